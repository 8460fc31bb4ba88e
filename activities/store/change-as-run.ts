// Changes of a manifest by a Workflow's run. An Activity of a run that a reset or a retry cut off may come to its commit late, when
// the run after it has written already: it must change nothing, and only Temporal knows which of two runs is the later one.
import { updateManifest } from './manifest.ts';
import type { TurnIdentity } from '../../shared/activities.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest } from '../../shared/manifest.ts';

/** A run, and the question whether it is still the one that counts. */
export interface RunAsked {
  readonly run: string;
  /** @default it is */
  readonly isCurrentRun?: () => Promise<boolean>;
  /** As `updateManifest` has it. */
  readonly mustExist?: boolean;
}

/**
 * As `updateManifest`. Where another run wrote last, Temporal is asked first, and once more if yet another came meanwhile.
 * Raises `RunCutOff`, with the manifest as it was, `TemporalUnavailable`, and what `updateManifest` raises.
 */
export async function changeAsRun(
  store: FileStore,
  turn: TurnIdentity,
  { run, isCurrentRun = async () => true, mustExist = false }: RunAsked,
  change: (current: Manifest) => Manifest,
): Promise<Manifest> {
  const earlier = new Set([undefined, run]);
  for (;;) {
    let other: string | undefined;
    const changed = (current: Manifest): Manifest => {
      other = earlier.has(current.run) ? undefined : current.run;
      return other === undefined ? change(current) : current;
    };
    const manifest = await updateManifest(store, turn, changed, { mustExist });
    if (other === undefined) return manifest;
    if (!(await isCurrentRun())) throw cutOff(turn, run, other);
    earlier.add(other);
  }
}

function cutOff({ workflowId }: TurnIdentity, run: string, other: string): LongshoreError {
  return new LongshoreError(
    'RunCutOff',
    `Run \`${run}\` of turn \`${workflowId}\` was cut off by a reset or a retry, and run \`${other}\` has written since: nothing was changed`,
    'Nothing: the run that came after it does this work.',
  );
}
