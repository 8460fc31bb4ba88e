// The embedded server for real: one a home, shared, gone with the last who uses it, whatever way they end.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { attachDevServer, connectTemporal } from '../../worker/dev-server.ts';
import type { Claim } from '../../worker/dev-server/claims.ts';
import { listClaims } from '../../worker/dev-server/claims.ts';
import type { Home } from '../../worker/home.ts';
import { openHome } from '../../worker/home.ts';
import { Holder, isRunning, temporaryFolder, until } from '../support/process.ts';

let home: Home;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const holders: Holder[] = [];

beforeEach(async () => {
  folder = await temporaryFolder();
  home = await openHome({ LONGSHORE_HOME: folder.path }, folder.path);
});

afterEach(async () => {
  await Promise.all(holders.splice(0).map(async (holder) => holder.kill()));
  await until('the server is gone', async () => !(await lives()));
  await folder.remove();
});

function hold(env: { readonly [name: string]: string } = {}): Holder {
  const holder = new Holder(home.folder, 'run', env);
  holders.push(holder);
  return holder;
}

/** Of a running server's keeper, every field is there. */
async function claims(): Promise<readonly Required<Claim>[]> {
  return (await listClaims(home)) as readonly Required<Claim>[];
}

async function onlyClaim(): Promise<Required<Claim>> {
  const found = await claims();
  expect(found).toHaveLength(1);
  // Just counted.
  return found[0] as Required<Claim>;
}

/** Whether a keeper or a server of this home runs. */
async function lives(): Promise<boolean> {
  return (await claims()).some(({ pid, serverPid }) => isRunning(pid) || isRunning(serverPid));
}

async function gone({ pid, serverPid }: Claim): Promise<void> {
  await until('keeper and server are gone', () => !isRunning(pid) && !isRunning(serverPid ?? -1), 15_000);
}

describe('a lease', () => {
  it('brings up a server that answers, and takes it down before release resolves', async () => {
    const lease = await attachDevServer(home, { kind: 'run' });
    const claim = await onlyClaim();
    const connection = await Connection.connect({ address: lease.address });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    await connection.close();
    const page = await fetch(lease.uiUrl);
    await page.body?.cancel();
    await lease.release();
    expect(page.status).toBe(200);
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(['LongshoreStatus', 'LongshoreWaitingSince']));
    expect(isRunning(claim.serverPid)).toBe(false);
    expect(await readdir(home.claimsFolder)).toEqual([]);
    expect(await readdir(home.folder)).not.toContain('server.json');
  });

  it('keeps the state of Workflows over a restart', async () => {
    const first = await attachDevServer(home, { kind: 'run' });
    const before = await Connection.connect({ address: first.address });
    await new Client({ connection: before }).workflow.start('nobodyRunsThis', {
      workflowId: 'kept',
      taskQueue: 'none',
    });
    await before.close();
    await first.release();
    const second = await attachDevServer(home, { kind: 'run' });
    const after = await Connection.connect({ address: second.address });
    const { status } = await new Client({ connection: after }).workflow.getHandle('kept').describe();
    await after.close();
    await second.release();
    expect(status.name).toBe('RUNNING');
  });

  it('of one who comes while the server stops gets a new server', async () => {
    const first = await attachDevServer(home, { kind: 'run' });
    const released = first.release();
    const second = await attachDevServer(home, { kind: 'run' });
    await released;
    const connection = await Connection.connect({ address: second.address });
    await connection.close();
    await second.release();
    expect(second.address).not.toBe(first.address);
  });
});

describe('several processes on one home', () => {
  it('that start at once share one server, and each sees the others', async () => {
    const all = [hold(), hold(), hold(), hold()];
    const held = await Promise.all(all.map(async (holder) => holder.held));
    expect(new Set(held.map(({ address }) => address)).size).toBe(1);
    const claim = await onlyClaim();
    const lease = await attachDevServer(home, { kind: 'read' });
    const others = await lease.workers();
    await lease.release();
    expect(new Set(others.map(({ pid }) => pid))).toEqual(new Set(held.map(({ pid }) => pid)));
    expect(others.map(({ worker }) => worker?.taskQueue)).toContain(`queue-${held[0]?.pid}`);
    await Promise.all(all.map(async (holder) => holder.release()));
    await gone(claim);
  });

  it('lose nothing when the one that started the server is killed', async () => {
    const starter = hold();
    const { address } = await starter.held;
    const other = hold();
    await other.held;
    await starter.kill();
    const connection = await Connection.connect({ address });
    await connection.close();
    expect((await other.release()).code).toBe(0);
  });
});

describe('after SIGKILL', () => {
  it('of the only attached process the server goes within seconds', async () => {
    const holder = hold();
    await holder.held;
    const claim = await onlyClaim();
    await holder.kill();
    await gone(claim);
    expect(await readdir(home.claimsFolder)).toEqual([]);
  });

  it('of the keeper the server goes, attached processes are told, and the next start works', async () => {
    const holder = hold();
    await holder.held;
    const claim = await onlyClaim();
    process.kill(claim.pid, 'SIGKILL');
    await gone(claim);
    expect((await holder.ended()).stderr).toMatch(/^TemporalUnavailable: .* has ended/);
    const lease = await attachDevServer(home, { kind: 'run' });
    expect((await claims()).map(({ token }) => token)).not.toContain(claim.token);
    await lease.release();
  });

  it('of keeper and watcher at once the next start ends the server that was left', async () => {
    const holder = hold();
    await holder.held;
    const claim = await onlyClaim();
    const children = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n');
    const watcher = children
      .map((line) => line.trim().split(/\s+/).map(Number))
      .find(([pid, parent]) => parent === claim.pid && pid !== claim.serverPid)?.[0];
    // The server's own watcher is the keeper's only other child.
    process.kill(claim.pid, 'SIGSTOP');
    process.kill(watcher as number, 'SIGKILL');
    process.kill(claim.pid, 'SIGKILL');
    await holder.ended();
    expect(isRunning(claim.serverPid)).toBe(true);
    const lease = await attachDevServer(home, { kind: 'run' });
    expect(isRunning(claim.serverPid)).toBe(false);
    await lease.release();
  });

  it('of the server attached processes are told, and nothing is left', async () => {
    const holder = hold();
    await holder.held;
    const claim = await onlyClaim();
    process.kill(claim.serverPid, 'SIGKILL');
    expect((await holder.ended()).stderr).toMatch(/^TemporalUnavailable: .*signal SIGKILL/);
    await gone(claim);
  });
});

describe('a server that panics', () => {
  it('is started again on its ports and its database, and who is attached goes on', async () => {
    const lease = await attachDevServer(home, { kind: 'run' });
    const connection = await Connection.connect({ address: lease.address });
    const client = new Client({ connection });
    const handle = await client.workflow.start('none', { taskQueue: 'none', workflowId: 'kept' });
    for (const _time of [1, 2]) {
      const { serverPid } = await onlyClaim();
      // Go's runtime answers SIGQUIT as it does a panic: it prints all stacks and exits with code 2.
      process.kill(serverPid, 'SIGQUIT');
      await until('another server has the port', async () => {
        const [claim] = await claims();
        return claim !== undefined && claim.serverPid !== serverPid && isRunning(claim.serverPid);
      });
      expect((await handle.describe()).status.name).toBe('RUNNING');
    }
    await expect(Promise.race([lease.lost, Promise.resolve('still there')])).resolves.toBe('still there');
    expect(await readFile(join(home.logsFolder, 'temporal.log'), 'utf8')).toMatch(/the server crashed \(exit code 2\)/);
    await connection.close();
    await lease.release();
  });

  it('at every start ends the attempt with the words of the panic', async () => {
    const cli = join(folder.path, 'temporal');
    await writeFile(
      cli,
      '#!/bin/sh\n[ "$1" = --version ] && echo "temporal version 1.9.1" && exit 0\necho "panic: out of luck" >&2\nexit 2\n',
      { mode: 0o755 },
    );
    const env = { ...process.env, LONGSHORE_HOME: home.folder, LONGSHORE_TEMPORAL_CLI: cli };
    await expect(attachDevServer(home, { kind: 'run', env })).rejects.toMatchObject({
      type: 'TemporalUnavailable',
      message: expect.stringContaining('its last words: panic: out of luck') as string,
    });
    expect((await readFile(join(home.logsFolder, 'temporal.log'), 'utf8')).match(/panic/g)).toHaveLength(4);
  });
});

describe('what was left behind', () => {
  it('by a keeper whose port another program has now does not stop a start', async () => {
    const other = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const port = await listen(other);
    const stale = { token: 'f'.repeat(32), pid: process.pid, controlPort: port };
    await writeFile(join(home.claimsFolder, `${stale.token}.json`), JSON.stringify(stale));
    await writeFile(join(home.claimsFolder, '0.json'), '{"token": "f');
    const lease = await attachDevServer(home, { kind: 'run' });
    expect((await claims()).map(({ token }) => token)).not.toContain(stale.token);
    await lease.release();
    other.close();
  });
});

describe('a server that cannot start', () => {
  it('for a port that is taken names the port and the setting', async () => {
    const other = createServer();
    const port = await listen(other);
    const attached = attachDevServer(home, { kind: 'run', env: { ...process.env, LONGSHORE_PORT: String(port) } });
    await expect(attached).rejects.toMatchObject({
      type: 'PortTaken',
      message: expect.stringContaining(`Port ${port}, named by LONGSHORE_PORT`),
      mend: expect.stringContaining('LONGSHORE_PORT'),
    });
    const ui = attachDevServer(home, { kind: 'run', env: { ...process.env, LONGSHORE_UI_PORT: String(port) } });
    await expect(ui).rejects.toMatchObject({
      type: 'PortTaken',
      message: expect.stringContaining('LONGSHORE_UI_PORT'),
    });
    other.close();
  });

  it('for a port that is none is wrong usage', async () => {
    const attached = attachDevServer(home, { kind: 'run', env: { ...process.env, LONGSHORE_PORT: '70000' } });
    await expect(attached).rejects.toMatchObject({ type: 'UsageInvalid', message: expect.stringContaining('"70000"') });
  });

  it('for a port that is none is wrong usage too while a server runs already, and that one goes on', async () => {
    const lease = await attachDevServer(home, { kind: 'dev' });
    for (const setting of ['LONGSHORE_PORT', 'LONGSHORE_UI_PORT']) {
      const attached = attachDevServer(home, { kind: 'run', env: { ...process.env, [setting]: '99999' } });
      await expect(attached).rejects.toMatchObject({
        type: 'UsageInvalid',
        message: `${setting} is "99999", which is no port.`,
      });
    }
    const another = await attachDevServer(home, { kind: 'run' });
    expect(another.address).toBe(lease.address);
    await another.release();
    await lease.release();
  });

  it('for a damaged database names it and how to go on, with the server’s last words', async () => {
    await writeFile(home.database, 'this is not a database, whatever it is named'.repeat(100));
    await expect(attachDevServer(home, { kind: 'run' })).rejects.toMatchObject({
      type: 'HomeUnusable',
      message: expect.stringMatching(/temporal\.db.*damaged.*file is not a database/),
      mend: expect.stringContaining('Move'),
    });
  });

  it.runIf(process.platform === 'linux' && process.getuid?.() === 0)('for a full disk says so', async () => {
    const disk = join(home.folder, 'small');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    try {
      const small = await openHome({ LONGSHORE_HOME: disk }, disk);
      await expect(attachDevServer(small, { kind: 'run' })).rejects.toMatchObject({
        type: 'HomeUnusable',
        message: expect.stringContaining('is full'),
      });
      await writeFile(join(disk, 'ballast'), Buffer.alloc(2_000_000)).catch(() => {});
      await expect(openHome({ LONGSHORE_HOME: disk }, disk)).rejects.toMatchObject({
        type: 'HomeUnusable',
        message: expect.stringContaining('the disk is full'),
      });
    } finally {
      await until('the disk can be let go', () => unmounts(disk));
    }
  });
});

describe('the server that the environment names', () => {
  it('is used instead of the embedded one', async () => {
    const lease = await attachDevServer(home, { kind: 'run' });
    const env = { TEMPORAL_ADDRESS: lease.address, TEMPORAL_NAMESPACE: 'default', HOME: home.folder };
    const named = await connectTemporal(env, home, { kind: 'run' });
    await lease.release();
    expect(named).toEqual({
      connectionOptions: { address: lease.address },
      namespace: 'default',
      embedded: null,
    });
  });

  it('is named, with its setting, within ten seconds when it is not there', async () => {
    const startedAt = Date.now();
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', HOME: home.folder };
    await expect(connectTemporal(env, home, { kind: 'run' })).rejects.toMatchObject({
      type: 'TemporalUnavailable',
      message: expect.stringMatching(/127\.0\.0\.1:1, named by TEMPORAL_ADDRESS/),
    });
    expect(Date.now() - startedAt).toBeLessThan(12_000);
  });
});

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return address.port;
}

function unmounts(folder: string): boolean {
  try {
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
