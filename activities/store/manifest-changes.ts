// How a turn's files change their state: pure functions from one manifest to the next. What they keep to: at no instant does
// a path that the turn's context may name lead to nothing. Source: architecture D8.
import type { TurnIdentity } from '../../shared/activities.ts';
import { parseCallKey, RESULTS_FOLDER } from '../../shared/call-key.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';

/** By whom and when a manifest is changed. */
export interface ChangeContext {
  /** The run whose Activity writes. */
  readonly run: string;
  /** The Worker's clock, milliseconds since 1970. */
  readonly now: number;
}

/** A file as a call left it, not yet in a manifest. */
export type NewFile = Omit<ManifestFile, 'state' | 'pinnedAt' | 'supersededBy' | 'run'>;

/**
 * The manifest as a run finds it that has not written here before, when it comes to `step`.
 * Files of this step and later ones were made by a run that a reset cut off, or that failed: they are released, and calls made
 * anew supersede them. What was released since the turn closed is pinned again: the turn is open.
 */
export function enterRun(manifest: Manifest, step: number, { run }: ChangeContext): Manifest {
  if (manifest.run === run) return manifest;
  const { ended: _ended, endedAt: _endedAt, waiting: _waiting, runSince: _runSince, letGo: _letGo, ...open } = manifest;
  const isLater = manifest.run !== undefined || manifest.files.length > 0;
  const files = manifest.files.map((file): ManifestFile => {
    if (file.state === 'deleted' || file.state === 'superseded') return file;
    const isCutOff = isOwn(file, manifest.turn) && stepOf(file) >= step;
    return { ...file, state: isCutOff || file.state === 'staged' ? 'released' : 'pinned' };
  });
  return { ...open, run, ...(isLater && { runSince: step }), files };
}

/** Keeps an earlier turn's files, superseded ones too, so that every path of its context goes on to lead somewhere. */
export function inheritFiles(manifest: Manifest, before: readonly ManifestFile[]): Manifest {
  const known = new Set(manifest.files.map((file) => file.path));
  const kept = before
    .filter((file) => !known.has(file.path) && file.state !== 'staged')
    .map((file): ManifestFile => (file.state === 'released' ? { ...file, state: 'pinned' } : file));
  return { ...manifest, files: [...kept, ...manifest.files] };
}

/** A file to pin, and whether what the same call left before under other paths is superseded in the same change. */
export interface AddedFile {
  readonly file: NewFile;
  /** False for an error, which is no newer content and supersedes nothing. */
  readonly supersedes: boolean;
}

/**
 * Pins what calls left behind, in this order; each block supersedes its own earlier ones. Of two generations of a run the
 * later one stays; a run after a reset counts them anew. Its time grows with the number of files, not with its square.
 */
export function pinFiles(manifest: Manifest, added: readonly AddedFile[], { run, now }: ChangeContext): Manifest {
  if (added.length === 0) return manifest;
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const parts = new Map<string, Set<string>>();
  const noteParts = (file: NewFile): void => {
    const part = partOf(file);
    if (part !== null) parts.set(part, (parts.get(part) ?? new Set()).add(file.path));
  };
  manifest.files.forEach(noteParts);
  for (const { file, supersedes } of added) {
    const before = files.get(file.path);
    const isSame = before?.sha256 === file.sha256 && before.pinnedAt !== undefined;
    const pinned: ManifestFile = { ...file, state: 'pinned', pinnedAt: isSame ? (before.pinnedAt ?? now) : now, run };
    const rivals = [...(parts.get(partOf(file) ?? '') ?? [])].flatMap((path) => {
      const other = path === file.path ? undefined : files.get(path);
      return other && partOf(other) === partOf(file) ? [other] : [];
    });
    const newer = rivals.find(
      (other) => other.state === 'pinned' && other.run === run && generationOf(other) > generationOf(file),
    );
    files.set(file.path, newer ? { ...pinned, state: 'superseded', supersededBy: newer.path } : pinned);
    noteParts(file);
    if (newer || !supersedes) continue;
    for (const other of rivals) files.set(other.path, supersede(other, file.path));
  }
  return { ...manifest, files: [...files.values()] };
}

/** Holds what a settled call left behind while its step waits for a person. What is pinned stays so. */
export function stageFile(manifest: Manifest, file: NewFile, { run, now }: ChangeContext): Manifest {
  const before = manifest.files.find((other) => other.path === file.path);
  if (before?.state === 'pinned' || before?.state === 'superseded') return manifest;
  return put(manifest, { ...file, state: 'staged', pinnedAt: before?.pinnedAt ?? now, run });
}

/**
 * The bytes of what a settled call left under a path that keeps its present content until the commit: a file written anew, or
 * one whose path leads elsewhere since. They are held as blobs.
 */
export function unheldBlobs({ files }: Manifest, staged: readonly NewFile[]): readonly BlobRef[] {
  const held = new Set(
    files.flatMap(({ state, sha256 }) => (state === 'pinned' || state === 'staged' ? [sha256] : [])),
  );
  return staged.filter(({ sha256 }) => !held.has(sha256)).map(({ sha256, bytes }) => ({ sha256, bytes }));
}

/** After the commit of these calls: what was staged for them and not pinned stands in the context itself, under no path. */
export function settleStaged(manifest: Manifest, callKeys: ReadonlySet<string>): Manifest {
  const files = manifest.files.filter((file) => file.state !== 'staged' || !callKeys.has(file.callKey));
  return files.length === manifest.files.length ? manifest : { ...manifest, files };
}

/** Records all that the turn refers to as of now, and that it does not wait. */
export function saveHead(manifest: Manifest, head: BlobRef | null, refs: readonly BlobRef[], now: number): Manifest {
  const { refs: _refs, waiting: _waiting, ...rest } = manifest;
  return { ...rest, head, savedAt: now, ...(refs.length > 0 && { refs: distinct(refs) }) };
}

/** Records how a turn ended, when it first did. Its files stay as they are: the sweep releases them. */
export function endTurn(manifest: Manifest, ended: string | undefined, now: number): Manifest {
  const { ended: before, endedAt, ...open } = manifest;
  if (ended === undefined) return open;
  return { ...open, ended, endedAt: before === ended ? (endedAt ?? now) : now };
}

/**
 * The file that answers for a path's entry: itself, or what superseded it. Null where a chain ends in nothing, which no change
 * made here leads to.
 */
export function answeringFile(manifest: Pick<Manifest, 'files'>, entry: ManifestFile): ManifestFile | null {
  const seen = new Set<string>();
  for (let file = entry; ;) {
    if (file.supersededBy === undefined || seen.has(file.path)) return seen.has(file.path) ? null : file;
    seen.add(file.path);
    const next = manifest.files.findLast((other) => other.path === file.supersededBy);
    if (!next) return null;
    file = next;
  }
}

/** The number of a further block in the path of a result, 0 for the payload itself; null for a file that is no result. */
export function blockOf(path: string): number | null {
  if (!path.startsWith(`${RESULTS_FOLDER}/`)) return null;
  const [, block] = /-[0-9a-f]{16}(?:-(\d+))?\.[^./]*$/.exec(path) ?? [];
  return block === undefined ? 0 : Number(block);
}

/** Whether a file was made by the turn that the manifest is of. */
export function isOwn(file: ManifestFile, turn: Pick<TurnIdentity, 'workflowId'>): boolean {
  return file.origin === turn.workflowId;
}

function supersede(file: ManifestFile, by: string): ManifestFile {
  return { ...file, state: file.state === 'deleted' ? 'deleted' : 'superseded', supersededBy: by };
}

/**
 * What two files share that the same call made as the same part of its result; null for files that a call wrote under paths
 * of its own, which are no parts.
 */
function partOf({ origin, callKey, path }: NewFile): string | null {
  const block = blockOf(path);
  return block === null ? null : JSON.stringify([origin, callKey, block]);
}

function generationOf({ generation = 0 }: Pick<ManifestFile, 'generation'>): number {
  return generation;
}

function stepOf(file: ManifestFile): number {
  return parseCallKey(file.callKey)?.step ?? 0;
}

/** In place of the entry of that path, else at the end. */
function put(manifest: Manifest, file: ManifestFile): Manifest {
  const isKnown = manifest.files.some((other) => other.path === file.path);
  const files = isKnown
    ? manifest.files.map((other) => (other.path === file.path ? file : other))
    : [...manifest.files, file];
  return { ...manifest, files };
}

function distinct(refs: readonly BlobRef[]): readonly BlobRef[] {
  return [...new Map(refs.map(({ sha256, bytes }) => [sha256, { sha256, bytes }])).values()];
}
