// The keeper: a small process of its own that owns one home's embedded server for as long as anybody is attached, and
// not longer. Started by `keeper-process.ts` as `keeper.ts CLAIM-TOKEN CLI-PATH [SERVER-ARGUMENT…]` with the home in LONGSHORE_HOME; it
// says on standard output how its claim went, then lets go of it.
import { rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { ErrorRecord } from '../../shared/errors.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { Home } from '../home.ts';
import { homeUnusable, openHome } from '../home.ts';
import type { Claim } from './claims.ts';
import { removeClaim, writeClaim } from './claims.ts';
import { contend } from './contend.ts';
import type { ControlServer } from './control-server.ts';
import { openControlServer } from './control-server.ts';
import type { ServerPorts } from './ports.ts';
import { choosePorts } from './ports.ts';
import { serverFailure } from './server-failure.ts';
import { ServerLog } from './server-log.ts';
import type { ServerProcess } from './server-process.ts';
import { startServerProcess } from './server-process.ts';

/** What a keeper says of its claim: it is made, and its control port tells the rest, or it cannot be made. */
export type KeeperReport = { readonly type: 'claimed' } | { readonly type: 'failed'; readonly error: ErrorRecord };

/** How long nobody may be attached before the server stops: at first, and once somebody was, in milliseconds. */
const IDLE_MS = 1_000;
/** How long a failed keeper stays to tell why, in milliseconds. */
const FAILED_LINGER_MS = 500;
const START_TIMEOUT_MS = 25_000;
/** How many starts one server may take: it panics now and then where a machine is busy, and a chosen port may be snatched. */
const START_TRIES = 4;
/** How often a server that crashed is started again. One that goes on crashing is not to be had. */
const MOST_RESTARTS = 5;
/** Below this the server would start and then fail in silence. A new database takes some 4 MB. */
const MINIMUM_FREE_BYTES = 32 * 1024 * 1024;

const [, , token = '', cliPath = '', ...extraArgs] = process.argv;
process.title = 'longshore-keeper';
// The database and logs are the owner's only.
process.umask(0o077);

await main();

async function main(): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, resolve);
  });
  let keeper: Keeper | undefined;
  try {
    const home = await openHome();
    const control = await openControlServer(token);
    keeper = { home, control, claim: { token, pid: process.pid, controlPort: control.port } };
    await writeClaim(home, keeper.claim).catch((thrown: unknown) => {
      throw homeUnusable(home.folder, thrown);
    });
    report({ type: 'claimed' });
    if ((await contend(home, keeper.claim)) === 'owner') await keep(keeper, stopped);
  } catch (thrown) {
    const error = recordOf(thrown);
    keeper?.control.setState({ name: 'failed', error });
    report({ type: 'failed', error });
    await Promise.race([keeper?.control.idleFor(FAILED_LINGER_MS), delay(2 * FAILED_LINGER_MS)]);
    process.exitCode = 1;
  } finally {
    // In this order: whoever waited for the end of the connection finds nothing of this keeper any more.
    if (keeper !== undefined) await removeClaim(keeper.home, keeper.claim);
    keeper?.control.close();
  }
  process.exit();
}

/** What a keeper works with; the claim is amended as it goes. */
interface Keeper {
  readonly home: Home;
  readonly control: ControlServer;
  claim: Claim;
}

/**
 * From owning the home to a stopped server. A server that crashes is started again on its database and its ports, so that
 * whoever is attached sees a gap and no end.
 *
 * @throws when the server cannot be started, ends by itself, is ended by somebody else, or crashes too often.
 */
async function keep(keeper: Keeper, stopped: Promise<void>): Promise<void> {
  const { home, control } = keeper;
  control.setState({ name: 'starting' });
  await requireSpace(home);
  const log = new ServerLog(join(home.logsFolder, 'temporal.log'));
  let { server, ports } = await start(keeper, log);
  const address = `127.0.0.1:${ports.port}`;
  const uiUrl = `http://127.0.0.1:${ports.uiPort}`;
  try {
    await writeServerFile(home, { address, uiUrl, pid: process.pid });
    for (let restarts = 0; ; restarts += 1) {
      control.setState({ name: 'ready', address, uiUrl });
      const reason = await Promise.race([server.ended, stopped, control.idleFor(IDLE_MS)]);
      if (reason === undefined) return;
      const failure = serverFailure(home, reason, log);
      if (!isCrash(reason, failure) || restarts === MOST_RESTARTS) throw failure;
      control.setState({ name: 'starting' });
      log.append(`longshore: the server crashed (${reason}) and is started again`);
      ({ server, ports } = await start(keeper, log, ports));
    }
  } finally {
    control.setState({ name: 'stopping' });
    await server.stop();
    await rm(home.serverFile, { force: true });
  }
}

/** Starts the server: on these ports again, or on chosen ones. */
async function start(
  keeper: Keeper,
  log: ServerLog,
  again?: ServerPorts,
): Promise<{ readonly server: ServerProcess; readonly ports: ServerPorts }> {
  for (let attempt = 1; ; attempt += 1) {
    const ports = again ?? (await choosePorts(process.env));
    // The claim names the port before the server has it: whoever finds the claim dead can tell if the server lives.
    await amendClaim(keeper, { serverPort: ports.port });
    const server = startServerProcess([cliPath, ...extraArgs], keeper.home, ports, log);
    await amendClaim(keeper, { serverPid: server.pid });
    if (await server.listens(START_TIMEOUT_MS)) return { server, ports };
    await server.stop();
    const reason = await server.ended;
    const failure = serverFailure(keeper.home, reason, log);
    const mayTryAgain = isCrash(reason, failure) || (failure.type === 'PortTaken' && ports.areFree);
    if (!mayTryAgain || attempt === START_TRIES) throw failure;
  }
}

/** Go ends a program that panics with exit code 2; what the Temporal CLI refuses to do ends with 1. */
function isCrash(reason: string, failure: LongshoreError): boolean {
  return reason === 'exit code 2' && failure.type === 'TemporalUnavailable';
}

async function amendClaim(keeper: Keeper, more: Partial<Claim>): Promise<void> {
  keeper.claim = { ...keeper.claim, ...more };
  await writeClaim(keeper.home, keeper.claim);
}

async function requireSpace(home: Home): Promise<void> {
  const { bavail, bsize } = await statfs(home.folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= MINIMUM_FREE_BYTES) return;
  throw new LongshoreError(
    'HomeUnusable',
    `The disk of ${home.folder} is full: ${freeBytes} bytes are free, the embedded server needs ${MINIMUM_FREE_BYTES}.`,
    'Free some space on that disk, or set LONGSHORE_HOME to a folder on another one.',
  );
}

async function writeServerFile(home: Home, content: { readonly [key: string]: unknown }): Promise<void> {
  await writeFile(`${home.serverFile}.tmp`, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  await rename(`${home.serverFile}.tmp`, home.serverFile);
}

/** The first report counts; whoever started this process may be gone by now. */
function report(message: KeeperReport): void {
  process.stdout.on('error', () => {});
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function recordOf(thrown: unknown): ErrorRecord {
  if (thrown instanceof LongshoreError) return thrown.toRecord();
  const code = (thrown as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC' || code === 'EACCES' || code === 'EROFS') {
    return homeUnusable(process.env['LONGSHORE_HOME'] ?? '', thrown).toRecord();
  }
  return { type: 'Internal', message: `The keeper of the embedded server failed: ${messageOf(thrown)}`, mend: '' };
}
