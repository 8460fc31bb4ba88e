// The two records of what a turn pins, history's and the manifest's, compared when a turn that waited goes on. Only the turn's
// own pins: what it keeps of earlier turns, holds and tombstones are not history's. Source: architecture D8.
import { readBlocks } from './compact-facts.ts';
import { isOwn } from './store/manifest-changes.ts';
import type { RecordedPin, ResumeCheck } from '../shared/activities.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../shared/manifest.ts';

/** What else is known of the moment. */
export interface CompareContext {
  /** The run that compares: what other runs pinned, which a reset cut off, is not in its history. */
  readonly run: string;
  /** Calls that are committed with the comparison: an earlier attempt may have done so already. */
  readonly committing: ReadonlySet<string>;
}

/** More differences than these are counted. */
const NAMED_DIFFERENCES = 5;

/** The check with its lists of blocks read. Raises the store's errors. */
export async function withBlockPins(resume: ResumeCheck, store: FileStore): Promise<ResumeCheck> {
  if (resume.blockLists.length === 0) return resume;
  const lists = await Promise.all(resume.blockLists.map((ref) => readBlocks(ref, store)));
  const pins = lists.flat().map(({ path, sha256, bytes }) => ({ path, sha256, bytes }));
  return { ...resume, pins: [...resume.pins, ...pins], blockLists: [] };
}

/** Raises `PinsDiffer`, naming what each record says, where history and manifest do not agree. `manifest` is null where none is there. */
export function comparePins(manifest: Manifest | null, resume: ResumeCheck, context: CompareContext): void {
  const files = new Map(manifest?.files.map((file) => [file.path, file]));
  const missing = resume.pins.flatMap((pin) => differenceOf(pin, files.get(pin.path), context));
  const differences = [...missing, ...(manifest && resume.complete ? unknownToHistory(manifest, resume, context) : [])];
  if (differences.length === 0) return;
  const named = differences.slice(0, NAMED_DIFFERENCES).join('; ');
  const more = differences.length > NAMED_DIFFERENCES ? `; and ${differences.length - NAMED_DIFFERENCES} more` : '';
  throw new LongshoreError(
    'PinsDiffer',
    `The files that the turn's history pins and those of its manifest in the file store differ: ${named}${more}`,
    'Nothing was deleted. Bring the manifest back from a copy of the store, or reset the turn to before the step that made the file.',
  );
}

function differenceOf(pin: RecordedPin, file: ManifestFile | undefined, { committing }: CompareContext): string[] {
  const history = `history pins ${pin.path} (SHA-256 ${pin.sha256}, ${pin.bytes} bytes)`;
  if (!file) {
    // Held for a call whose result stands in the context itself once it is committed.
    const isSettled = pin.staged !== undefined && committing.has(pin.staged);
    return isSettled ? [] : [`${history}, the manifest does not know it`];
  }
  if (file.sha256 !== pin.sha256 || file.bytes !== pin.bytes) {
    return [`${history}, the manifest has it with SHA-256 ${file.sha256}, ${file.bytes} bytes`];
  }
  const isKept = file.state === 'pinned' || file.state === 'superseded' || file.state === 'staged';
  return isKept ? [] : [`${history}, the manifest has it as ${file.state}`];
}

/** What is only staged is held for a time; a pause beside a model call may hold what that call has committed already. */
function unknownToHistory(manifest: Manifest, { pins }: ResumeCheck, { run, committing }: CompareContext): string[] {
  const known = new Set(pins.map((pin) => pin.path));
  return manifest.files
    .filter((file) => isOwn(file, manifest.turn) && file.run === run && !file.inline && !known.has(file.path))
    .filter((file) => file.state === 'pinned' && !committing.has(file.callKey))
    .map((file) => `the manifest has ${file.path} as ${file.state} (SHA-256 ${file.sha256}), history does not pin it`);
}
