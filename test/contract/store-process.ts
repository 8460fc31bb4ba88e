// A process of its own on a local file store, for tests of what several processes and killed ones leave behind.
// Usage: store-process.ts COMMAND FOLDER [ARGUMENT]; prints one JSON document, or `ready` when it waits to be killed.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../../activities/store/key-lock.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { LongshoreError } from '../../shared/errors.ts';

const [command = '', folder = '', argument = ''] = process.argv.slice(2);
const store = createLocalStore({ folder, namespace: 'default' });

/** Blobs that every process writes, and some of its own. */
async function blobs(): Promise<readonly string[]> {
  const written: string[] = [];
  for (let i = 0; i < 40; i += 1) {
    written.push((await store.putBlob(Buffer.alloc(1000 + i * 20_000, `shared ${i}`))).sha256);
    written.push((await store.putBlob(Buffer.from(`${argument} ${i}`))).sha256);
  }
  return written;
}

/** Counts one object up, by read-modify-write. */
async function count(): Promise<number> {
  let conflicts = 0;
  for (let done = 0; done < Number(argument);) {
    const current = await store.getObject('counter');
    const next = Buffer.from(String(Number(Buffer.from(current?.body ?? []).toString()) + 1));
    const condition = current === null ? { ifAbsent: true as const } : { ifMatch: current.etag };
    if (await wasWritten('counter', next, condition)) done += 1;
    else conflicts += 1;
  }
  return conflicts;
}

/** The keys of 100 for which this process was the first. */
async function claim(): Promise<readonly number[]> {
  const won: number[] = [];
  for (let i = 0; i < 100; i += 1) {
    if (await wasWritten(`claims/${i}`, Buffer.from(argument), { ifAbsent: true })) won.push(i);
  }
  return won;
}

async function wasWritten(key: string, body: Uint8Array, condition: object): Promise<boolean> {
  try {
    await store.putObject(key, body, condition);
    return true;
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'StoreConflict') return false;
    throw error;
  }
}

/** Writes 3 MB of a blob and waits for ever. */
async function hang(): Promise<void> {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 3; i += 1) yield randomBytes(1_000_000);
    fs.writeSync(1, 'ready');
    setInterval(() => {}, 60_000);
    await new Promise(() => {});
  }
  await store.putBlob(endless());
}

/** Stops for ever while it holds the lock of the object `held`. */
async function holdLock(): Promise<void> {
  await store.putObject('held', Buffer.from('before'));
  await withLock(join(folder, 'default', 'locks'), argument, () => {
    fs.writeSync(1, 'ready');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
}

/** Runs into a full disk (or file size limit), makes room, and goes on. */
async function fullDisk(): Promise<unknown> {
  const small = await store.putBlob(Buffer.from('small'));
  await store.putObject('small', Buffer.from('small'));
  const failures = [];
  for (const write of [
    () => store.putBlob(randomBytes(2_000_000)),
    () => store.putBlob(pieces(200)),
    () => store.putObject('large', randomBytes(2_000_000)),
    () => store.putObject('small', randomBytes(2_000_000)),
  ]) {
    failures.push(await failure(write));
  }
  const afterFailures = { files: filesBelow(folder), small: String(Buffer.from(await store.readBlob(small.sha256))) };
  const kept: string[] = [];
  let full: unknown = null;
  while (full === null && kept.length < 30) {
    full = await failure(async () => kept.push((await store.putBlob(randomBytes(60_000))).sha256));
  }
  await store.deleteBlob(kept.pop() ?? '');
  const again = await store.putBlob(randomBytes(50_000));
  const readBack = (await store.readBlob(again.sha256)).byteLength;
  return { failures, afterFailures, full, readBack, temps: filesBelow(join(folder, 'default', 'tmp')) };
}

async function* pieces(number: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < number; i += 1) yield randomBytes(10_000);
}

async function failure(write: () => Promise<unknown>): Promise<unknown> {
  try {
    await write();
    return null;
  } catch (error) {
    return error instanceof LongshoreError ? error.toRecord() : String(error);
  }
}

function filesBelow(path: string): readonly string[] {
  const entries = fs.readdirSync(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
}

const commands: Readonly<Record<string, () => Promise<unknown>>> = { blobs, count, claim, hang, holdLock, fullDisk };
const run = commands[command];
if (run === undefined) throw new Error(`no command ${command}`);
process.stdout.write(JSON.stringify((await run()) ?? null));
