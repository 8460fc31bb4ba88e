// Who holds a file and why, as data and in words: its state in a turn's manifest, and holds set by hand. Pure. Source: D8.
import { describeTarget, isHeldBy, type Hold } from './holds.ts';
import type { Manifest, ManifestFile } from './manifest.ts';

/** One reason for which a file is kept. Times are ISO 8601 in UTC. */
export type FileHolder =
  /** A turn that pins it, or stages it while it waits. `ended` until the sweep lets go. */
  | { readonly type: 'turn'; readonly workflowId: string; readonly turn: string; readonly why: string }
  | {
      readonly type: 'hold';
      readonly target: string;
      readonly by: string;
      readonly reason: string | null;
      readonly since: string;
    };

/** Why a file of a manifest is kept; empty where nothing holds it and its retention counts. */
export function holdersOf(manifest: Manifest, file: ManifestFile, holds: readonly Hold[]): readonly FileHolder[] {
  const { workflowId, session } = manifest.turn;
  const turn = turnStateOf(manifest);
  const why = whyOf(manifest, file);
  const held = holds.filter((hold) => isHeldBy(hold, { workflowId, session, path: file.path }));
  return [
    ...(why === null ? [] : [{ type: 'turn' as const, workflowId, turn, why }]),
    ...held.map(({ target, by, reason, since }) => ({
      type: 'hold' as const,
      target: describeTarget(target),
      by,
      reason: reason ?? null,
      since: new Date(since).toISOString(),
    })),
  ];
}

/** The state of a file with what there is to say of it: `superseded by /sandbox/…`. */
export function stateWords({ state, supersededBy }: ManifestFile): string {
  return supersededBy === undefined ? state : `${state} by ${supersededBy}`;
}

/** A holder in a few words. */
export function holderWords(holder: FileHolder): string {
  if (holder.type === 'turn') return `${holder.workflowId} (${holder.turn}): ${holder.why}`;
  const reason = holder.reason === null ? '' : `: ${holder.reason}`;
  return `held by ${holder.by} since ${holder.since} on ${holder.target}${reason}`;
}

/** As the manifest knows it: Temporal is not asked. */
function turnStateOf({ ended, waiting = [] }: Manifest): string {
  return ended ?? (waiting.length > 0 ? 'waiting' : 'open');
}

function whyOf({ turn, waiting = [], ended }: Manifest, { state, origin, callKey }: ManifestFile): string | null {
  if (state === 'staged') {
    const calls = waiting.map((call) => call.callKey).join(', ');
    return calls === '' ? 'held for a step that is not committed' : `held while ${calls} waits for a person`;
  }
  if (state !== 'pinned') return null;
  const what =
    origin === turn.workflowId ? `its context refers to call ${callKey}` : `its context goes on from turn ${origin}`;
  return ended === undefined ? `pinned, since ${what}` : 'pinned until the next sweep, since the turn has ended';
}
