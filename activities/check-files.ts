// Every file that a turn's context may name, read whole and compared with its record, when the turn goes on after a wait, a
// reset or an earlier turn's end. What is lost is said to the model in words: the turn goes on. Source: architecture D8.
import type { LostFile } from '../shared/activities.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../shared/manifest.ts';
import type { NoticeMessage } from '../shared/messages.ts';

/** Reads at once: enough to hide the latency of a store far away, and little memory with large files. */
const AT_ONCE = 4;
/** More are counted, not named: the words stand in the context. */
const NAMED_FILES = 30;

/** The files whose bytes are missing or not what the manifest says, in its order. Raises the store's retryable errors and the signal's reason. */
export async function checkFiles(
  store: FileStore,
  manifest: Pick<Manifest, 'files'>,
  signal: AbortSignal,
): Promise<readonly LostFile[]> {
  const kept = manifest.files.filter((file) => file.state === 'pinned' || file.state === 'staged');
  const blobs = new Map(kept.map((file) => [`${file.sha256} ${file.bytes}`, file]));
  const problems = new Map<string, LostFile['problem']>();
  const queue = [...blobs];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const problem = await problemOf(store, next[1], signal);
      if (problem !== null) problems.set(next[0], problem);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return kept.flatMap((file) => {
    const problem = problems.get(`${file.sha256} ${file.bytes}`);
    if (problem === undefined) return [];
    const { path, sha256, bytes, callKey, server, tool } = file;
    return [{ path, sha256, bytes, problem, callKey, server, tool }];
  });
}

async function problemOf(
  store: FileStore,
  { sha256, bytes }: ManifestFile,
  signal: AbortSignal,
): Promise<LostFile['problem'] | null> {
  let read = 0;
  try {
    // Verified by hash at its end.
    for await (const chunk of store.streamBlob(sha256)) {
      signal.throwIfAborted();
      read += chunk.byteLength;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LongshoreError && error.type === 'BlobMissing') return 'missing';
    if (error instanceof LongshoreError && error.type === 'BlobCorrupt') return 'altered';
    throw error;
  }
  return read === bytes ? null : 'altered';
}

/** What the model is told of lost files, or null where none is. */
export function lostFilesNotice(lost: readonly LostFile[]): NoticeMessage | null {
  if (lost.length === 0) return null;
  const lines = lost.slice(0, NAMED_FILES).map(lineOf);
  const more =
    lost.length > NAMED_FILES ? [`- and ${lost.length - NAMED_FILES} more; reading one of them says so.`] : [];
  const one = lost.length === 1;
  const text = [
    `[Files check: this conversation goes on after a pause, and ${one ? 'one of its files is' : `${lost.length} of its files are`} lost. ` +
      `Do not rely on ${one ? 'its' : 'their'} content beyond what stands above.]`,
    ...lines,
    ...more,
  ].join('\n');
  return { type: 'notice', parts: [{ type: 'text', text }] };
}

function lineOf({ path, problem, sha256, bytes, callKey, server, tool }: LostFile): string {
  const what = problem === 'missing' ? 'gone from the file store' : 'altered in the file store';
  return (
    `- ${path}: ${what}; expected ${bytes} bytes with SHA-256 ${sha256}. ` +
    `Made by call ${callKey} (${server}/${tool}): repeat that call to get the data again.`
  );
}
