// Claims: how exactly one keeper comes to own a home. Every keeper listens on a control port first and then writes a
// file under a name of its own, so a file whose port refuses is dead for good and may be removed by anybody; no shared
// lock file has to be taken over. A claim's token proves that who answers on the port is its keeper.
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import type { Home } from '../home.ts';
import type { KeeperState } from './protocol.ts';
import { receive, send } from './protocol.ts';

/** A keeper's claim on a home. */
export interface Claim {
  readonly token: string;
  readonly pid: number;
  readonly controlPort: number;
  /** Its server's port and process, from just before, or just after, the server is started. */
  readonly serverPort?: number;
  readonly serverPid?: number;
}

/** What asking a claim's keeper gave: its state, `dead`, or `silent` when something is there and does not answer. */
export type ProbedState = KeeperState['name'] | 'dead' | 'silent';

/** How long a keeper may take to answer on a loaded machine, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;

/** A new token; tokens order claims that meet. */
export function newToken(): string {
  return randomBytes(16).toString('hex');
}

/** Writes or rewrites a claim, whole or not at all, readable by its owner only. */
export async function writeClaim(home: Home, claim: Claim): Promise<void> {
  const path = claimPath(home, claim);
  await writeFile(`${path}.tmp`, JSON.stringify(claim), { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

/** Removes a claim that is dead or one's own. */
export async function removeClaim(home: Home, claim: Claim): Promise<void> {
  await rm(claimPath(home, claim), { force: true });
}

/** All claims on a home, in the order of their tokens. */
export async function listClaims(home: Home): Promise<readonly Claim[]> {
  const names = (await readdir(home.claimsFolder).catch(() => [])).filter((name) => name.endsWith('.json'));
  const claims = await Promise.all(names.sort().map((name) => readClaim(join(home.claimsFolder, name))));
  return claims.filter((claim) => claim !== undefined);
}

/** Asks a claim's keeper for its state. */
export async function probeClaim(claim: Claim, timeoutMs: number = PROBE_TIMEOUT_MS): Promise<ProbedState> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: claim.controlPort });
    const settle = (state: ProbedState): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(state);
    };
    const timer = setTimeout(() => settle(isProcessAlive(claim.pid) ? 'silent' : 'dead'), timeoutMs);
    receive(socket, (message) => settle(stateIn(message)?.name ?? 'dead'));
    socket.on('close', () => settle('dead'));
    socket.on('connect', () => send(socket, { type: 'hello', token: claim.token, pid: process.pid, kind: 'probe' }));
  });
}

/** The state in a keeper's message, if it is one. */
export function stateIn(message: unknown): KeeperState | undefined {
  const candidate = message as { readonly type?: unknown; readonly state?: KeeperState } | null;
  return candidate?.type === 'state' && typeof candidate.state?.name === 'string' ? candidate.state : undefined;
}

/** Whether a process with this id exists; it may be another one than the one meant. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function claimPath(home: Home, claim: Claim): string {
  return join(home.claimsFolder, `${claim.token}.json`);
}

async function readClaim(path: string): Promise<Claim | undefined> {
  try {
    const claim = JSON.parse(await readFile(path, 'utf8')) as Partial<Claim>;
    const isWhole = typeof claim.token === 'string' && typeof claim.pid === 'number';
    // The cast holds: its fields were just looked at, and only our own `writeClaim` writes here.
    return isWhole && typeof claim.controlPort === 'number' ? (claim as Claim) : undefined;
  } catch {
    // Removed between the listing and the reading, or not ours.
    return undefined;
  }
}
