// A file store that dies at its boundaries: before, during and after the writes of a step. It changes no byte.
import fs from 'node:fs';
import type { FileStore } from '../../shared/file-store.ts';
import type { Moment } from './plan.ts';
import type { Trap } from './trap.ts';

/** The large result is above this, and nothing else that is staged. */
const LARGE_BYTES = 300_000;
/** What a manifest holds that pins files, and one of a turn that waits. */
const PINNING = '"pinned"';
const WAITING = '"waiting":[{';

interface Moments {
  readonly before?: Moment;
  readonly after?: Moment;
}

/** Wraps a store; the trap springs around the writes that are boundaries. */
export function trapStore(store: FileStore, trap: Trap): FileStore {
  trapFileSystem(trap);
  return {
    ...store,
    async putBlob(content, expected) {
      const moments = content instanceof Uint8Array ? momentsOfBlob(content) : {};
      if (moments.before) trap.spring(moments.before);
      const isHalved = content instanceof Uint8Array && isLarge(content) && trap.isArmedFor('during-blob-write');
      const stored = await store.putBlob(isHalved ? firstHalf(content, trap) : content, expected);
      if (moments.after) trap.spring(moments.after);
      return stored;
    },
    async putObject(key, body, condition) {
      const moments = momentsOfObject(key, body);
      if (moments.before) trap.spring(moments.before);
      const stored = await store.putObject(key, body, condition);
      if (moments.after) trap.spring(moments.after);
      return stored;
    },
  };
}

function isLarge(content: Uint8Array): boolean {
  return content.byteLength > LARGE_BYTES;
}

function momentsOfBlob(content: Uint8Array): Moments {
  if (isLarge(content)) return { before: 'staged-before', after: 'staged-after' };
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
  if (!text.startsWith('{"version":1,"previous":')) return {};
  if (text.includes('"type":"tool.result"')) return { before: 'commit-append-before', after: 'commit-append-after' };
  return { before: 'transcript-before', after: 'transcript-after' };
}

function momentsOfObject(key: string, body: Uint8Array): Moments {
  if (key.startsWith('journal/')) {
    if (key.endsWith('/sent')) return { before: 'journal-sent-before', after: 'journal-sent-after' };
    return { before: 'journal-answered-before', after: 'journal-answered-after' };
  }
  if (!key.startsWith('manifests/')) return {};
  if (Buffer.from(body).includes(PINNING)) return { before: 'commit-pin-before', after: 'commit-pin-after' };
  return Buffer.from(body).includes(WAITING) ? { before: 'pause-before', after: 'pause-after' } : {};
}

/** The store asks for the second half when the first one is in its file. */
async function* firstHalf(content: Uint8Array, trap: Trap): AsyncGenerator<Uint8Array> {
  yield content.subarray(0, content.byteLength >> 1);
  trap.spring('during-blob-write');
  await Promise.reject(new Error('the trap did not spring'));
}

/** Named objects are written by synchronous calls, which no seam of the store reaches: these two are replaced. */
function trapFileSystem(trap: Trap): void {
  const { writeSync, renameSync, linkSync } = fs;
  const [half, mark] = trap.isArmedFor('pause-during')
    ? (['pause-during', WAITING] as const)
    : (['during-object-write', PINNING] as const);
  if (trap.isArmedFor(half)) {
    fs.writeSync = ((file: number, bytes: NodeJS.ArrayBufferView | string, ...rest: number[]) => {
      if (bytes instanceof Uint8Array && Buffer.from(bytes).includes(mark)) {
        writeSync(file, bytes, 0, bytes.byteLength >> 1, 0);
        trap.spring(half);
      }
      return Reflect.apply(writeSync, fs, [file, bytes, ...rest]) as number;
    }) as typeof fs.writeSync;
  }
  if (trap.isArmedFor('during-object-install')) {
    const springs = (target: fs.PathLike): void => {
      if (String(target).includes('/objects/manifests/')) trap.spring('during-object-install');
    };
    fs.renameSync = (from, to) => {
      springs(to);
      renameSync(from, to);
    };
    fs.linkSync = (from, to) => {
      springs(to);
      linkSync(from, to);
    };
  }
}
