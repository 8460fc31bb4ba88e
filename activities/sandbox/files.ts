// Finds a path in the turn's manifest and reads its bytes; what cannot be had becomes a text that the model can act on.
import { closest } from 'fastest-levenshtein';
import type { TurnIdentity } from '../../shared/activities.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileFacts } from '../../shared/facts.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { deletedFileText } from '../store/deleted-files.ts';
import { answeringFile } from '../store/manifest-changes.ts';
import { loadManifest, resolvePath } from '../store/manifest.ts';
import { clip, decode } from './text.ts';

const SNIFFED_BYTES = 8192;

/** What a tool of the sandbox works with. */
export interface SandboxContext {
  readonly store: FileStore;
  readonly turn: TurnIdentity;
  /** The most tokens that an answer may have. */
  readonly perResultTokens: number;
  readonly signal: AbortSignal;
  /** The turn's manifest where it was read already. */
  readonly manifest?: Manifest | null;
}

/** What a tool of the sandbox answers; `written` are files it wrote under paths of their own. */
export interface SandboxAnswer {
  readonly text: string;
  readonly isError: boolean;
  readonly written?: readonly FileFacts[];
}

/** A fault that the model is told about as the call's result: `message` says what happened and what to do. */
export class SandboxFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SandboxFault';
  }
}

/** The file that answers for a path: its own, or the newer one. Raises `SandboxFault`: deleted, or with the nearest known paths. */
export async function findFile(context: SandboxContext, path: string): Promise<ManifestFile> {
  const manifest = await manifestOf(context);
  const entry = manifest && resolvePath(manifest, path);
  const file = entry && answeringFile(manifest, entry);
  if (file && file.state !== 'deleted') return file;
  const deleted = await deletedFileText(context.store, entry?.path ?? path, { turn: context.turn, entry });
  if (deleted !== null) throw new SandboxFault(deleted);
  throw new SandboxFault(`There is no file ${clip(path, 200)}. ${nearestPaths(manifest, path)}`);
}

/** What a read of a path says first where a newer file answers for it; null where the path's own file does. */
export async function supersededNote(context: SandboxContext, path: string): Promise<string | null> {
  const manifest = await manifestOf(context);
  const entry = manifest && resolvePath(manifest, path);
  const file = entry && answeringFile(manifest, entry);
  if (!file || file.path === entry.path) return null;
  return (
    `[${entry.path} was superseded: call ${file.callKey} (${file.server}/${file.tool}) was made again. ` +
    `This is the newer content, ${file.path}.]`
  );
}

async function manifestOf({ manifest, store, turn }: SandboxContext): Promise<Manifest | null> {
  return manifest === undefined ? loadManifest(store, turn) : manifest;
}

/** Every path of the manifest with its last entry, sorted by path; deleted files left out. */
export function currentFiles(manifest: Manifest | null): readonly ManifestFile[] {
  const byPath = new Map((manifest?.files ?? []).map((file) => [file.path, file]));
  return [...byPath.values()]
    .filter((file) => file.state === 'pinned')
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** A range of a file's bytes; `end` is exclusive. */
export async function readRange(
  context: SandboxContext,
  file: ManifestFile,
  start: number,
  end: number,
): Promise<Uint8Array> {
  context.signal.throwIfAborted();
  if (start >= end) return new Uint8Array();
  return namingFile(file, () => context.store.readBlob(file.sha256, { start, end }));
}

/** A file's bytes from their start, as a stream that heeds the signal. */
export async function* streamFile(context: SandboxContext, file: ManifestFile): AsyncIterable<Uint8Array> {
  if (file.bytes === 0) return;
  try {
    for await (const chunk of context.store.streamBlob(file.sha256)) {
      context.signal.throwIfAborted();
      yield chunk;
    }
  } catch (thrown) {
    throw lostFault(file, thrown) ?? thrown;
  }
}

/** Whether a file is no text: by its media type, by a zero byte in its beginning, or by much that is not UTF-8. */
export async function isBinary(context: SandboxContext, file: ManifestFile): Promise<boolean> {
  if (/^(image|audio|video|font)\//.test(file.mediaType) && !/svg|xml/.test(file.mediaType)) return true;
  const head = await readRange(context, file, 0, Math.min(file.bytes, SNIFFED_BYTES));
  if (head.includes(0)) return true;
  const broken = decode(head).split('\uFFFD').length - 1;
  return broken > head.length / 10;
}

async function namingFile<T>(file: ManifestFile, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    throw lostFault(file, thrown) ?? thrown;
  }
}

// A blob that is gone or altered: which file it was, and how to get the data again.
function lostFault(file: ManifestFile, thrown: unknown): SandboxFault | null {
  if (!(thrown instanceof LongshoreError)) return null;
  if (thrown.type !== 'BlobMissing' && thrown.type !== 'BlobCorrupt') return null;
  const what = thrown.type === 'BlobMissing' ? 'is gone from the file store' : 'is damaged in the file store';
  return new SandboxFault(
    `The content of ${file.path} ${what} (expected SHA-256 ${file.sha256}, ${file.bytes} bytes). ` +
      `It was made by call ${file.callKey} (${file.server}/${file.tool}): repeat that call to get the data again.`,
  );
}

function nearestPaths(manifest: Manifest | null, path: string): string {
  let left = currentFiles(manifest).map((file) => file.path);
  if (left.length === 0) return 'This turn has no files yet.';
  const nearest: string[] = [];
  while (nearest.length < 3 && left.length > 0) {
    const next = closest(path.slice(0, 1024), left);
    nearest.push(next);
    left = left.filter((known) => known !== next);
  }
  return `The nearest known paths: ${nearest.join(', ')}. list_files shows all.`;
}
