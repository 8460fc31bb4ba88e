// What becomes of a closed turn's files: pure functions of its manifest, its end, the holds and the time.
// Nothing here is asked about turns that are open. Source: architecture D8.
import { isHeldBy, type Hold, type HoldSubject } from './holds.ts';
import type { Manifest, ManifestFile } from './manifest.ts';
import { DEFAULT_AFTER_TURN_MS, type RetentionRule } from './retention.ts';

/** When and under what holds it is asked. */
export interface VerdictContext {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Nothing goes sooner than this after its turn's end. */
  readonly graceMs: number;
  readonly holds: readonly Hold[];
}

/** The verdict on one closed turn. */
export interface Verdict {
  /** The manifest as it is to be: what is let go has state `deleted`, a transcript that is let go has no head. */
  readonly manifest: Manifest;
  readonly letGo: readonly ManifestFile[];
  readonly transcriptLetGo: boolean;
  readonly held: number;
  readonly notDue: number;
  /** Nothing of the turn is left: its manifest and journal may go. */
  readonly isEmpty: boolean;
}

const DEFAULT_RULE: RetentionRule = { afterTurnMs: DEFAULT_AFTER_TURN_MS };

/** Whether the sweep has released the manifest of a closed turn, and nobody has written to it since. */
export function isReleased(manifest: Manifest): boolean {
  const hasPins = manifest.files.some(({ state }) => state === 'pinned' || state === 'staged');
  return manifest.endedAt !== undefined && manifest.ended !== undefined && !hasPins && manifest.waiting === undefined;
}

/** The manifest of a closed turn with its pins released, and its end. Files of other states stay as they are. */
export function releaseManifest(
  manifest: Manifest,
  end: { readonly ended: string; readonly endedAt: number },
): Manifest {
  const { waiting: _waiting, ...rest } = manifest;
  const files = manifest.files.map((file): ManifestFile =>
    file.state === 'pinned' || file.state === 'staged' ? { ...file, state: 'released' } : file,
  );
  return { ...rest, files, ended: manifest.ended ?? end.ended, endedAt: end.endedAt };
}

/** What of a released manifest is past its retention and not held, and the manifest without it. */
export function letGo(manifest: Manifest, context: VerdictContext): Verdict {
  const { session, workflowId } = manifest.turn;
  const isHeld = (subject: Partial<HoldSubject>): boolean =>
    context.holds.some((hold) => isHeldBy(hold, { session, workflowId, ...subject }));
  const due = manifest.files.filter(
    (file) => file.state !== 'deleted' && isDue(fileDueAt(manifest, file), manifest, context),
  );
  const going = new Set(due.filter((file) => !isHeld({ path: file.path })));
  const hasTranscript = manifest.head !== null || manifest.refs !== undefined;
  const isTranscriptDue = isDue(transcriptDueAt(manifest), manifest, context) && !isHeld({});
  const files = manifest.files.map((file): ManifestFile => (going.has(file) ? { ...file, state: 'deleted' } : file));
  const { refs, ...rest } = manifest;
  const gone = { ...rest, head: null, files, ...(hasTranscript && { letGo: lettingGo(manifest.head, refs) }) };
  const left = files.filter((file) => file.state !== 'deleted').length;
  return {
    manifest: isTranscriptDue ? gone : { ...manifest, files },
    letGo: [...going],
    transcriptLetGo: isTranscriptDue && hasTranscript,
    held: due.length - going.size,
    notDue: left - (due.length - going.size),
    isEmpty: left === 0 && isTranscriptDue,
  };
}

/**
 * Of a manifest that was let go: what holds on it would have kept. A sweep that died between its letting go and its last look at
 * the holds leaves it to the next one to give this back.
 */
export function heldThoughLetGo(
  manifest: Manifest,
  holds: readonly Hold[],
): { readonly files: readonly ManifestFile[]; readonly transcript: Manifest['letGo'] } {
  const { session, workflowId } = manifest.turn;
  const isHeld = (subject: Partial<HoldSubject>): boolean =>
    holds.some((hold) => isHeldBy(hold, { session, workflowId, ...subject }));
  return {
    files: manifest.files.filter(({ state, path }) => state === 'deleted' && isHeld({ path })),
    transcript: isHeld({}) ? manifest.letGo : undefined,
  };
}

/** When a file's retention is over, milliseconds since 1970: by its tool's rule, else by the turn's. */
export function fileDueAt(manifest: Manifest, file: ManifestFile): number {
  const rule = file.retention ?? manifest.retention ?? DEFAULT_RULE;
  return dueAt(rule, endOf(manifest), file.pinnedAt ?? endOf(manifest));
}

/** When a transcript's retention is over: by the turn's rule, from its end. */
export function transcriptDueAt(manifest: Manifest): number {
  return dueAt(manifest.retention ?? DEFAULT_RULE, endOf(manifest), endOf(manifest));
}

/** Why a file was let go, in words. */
export function whyLetGo(manifest: Manifest, file: ManifestFile): string {
  const rule = file.retention ?? manifest.retention ?? DEFAULT_RULE;
  const named = rule.class === undefined ? '' : ` of class ${rule.class}`;
  const age = rule.maxAgeMs === undefined ? '' : `, at most ${inWords(rule.maxAgeMs)} old`;
  return `its retention${named} (${inWords(rule.afterTurnMs)} after the end of its turn${age}) was over`;
}

function lettingGo(head: Manifest['head'], refs: Manifest['refs']): NonNullable<Manifest['letGo']> {
  return { head, ...(refs && { refs }) };
}

function dueAt(rule: RetentionRule, endedAt: number, madeAt: number): number {
  return Math.min(endedAt + rule.afterTurnMs, rule.maxAgeMs === undefined ? Infinity : madeAt + rule.maxAgeMs);
}

function isDue(dueMs: number, manifest: Manifest, { nowMs, graceMs }: VerdictContext): boolean {
  return nowMs >= dueMs && nowMs >= endOf(manifest) + graceMs;
}

/** Without an end nothing is due. */
function endOf({ endedAt }: Manifest): number {
  return endedAt ?? Infinity;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

function inWords(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1];
  return `${ms / size} ${unit}`;
}
