// The record of a turn's files beside the files themselves: one manifest a turn, one writer. Source: architecture D8.
import type { TurnIdentity } from './activities.ts';
import type { FileFacts } from './facts.ts';
import type { BlobRef } from './file-store.ts';
import type { WaitingKind } from './approvals.ts';
import type { RetentionRule } from './retention.ts';

/**
 * The life of a file. `staged`: held by a turn that waits, not in its context yet. `superseded`: a newer file stands in
 * its place (`supersededBy`). `released`: nothing needs it any more, retention counts.
 */
export type FileState = 'staged' | 'pinned' | 'superseded' | 'released' | 'deleted';

/** One file of a turn. */
export interface ManifestFile extends FileFacts {
  readonly state: FileState;
  /** The call that made it, and which tool. */
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  /** The Workflow that made it: this turn's own, or an earlier turn's whose files it keeps. */
  readonly origin: string;
  /** When it was first pinned, by the Worker's clock; milliseconds since 1970. Absent in older manifests. */
  readonly pinnedAt?: number;
  /** Of its tool; absent where the turn's own rule counts. */
  readonly retention?: RetentionRule;
  /** With state `superseded`: the path that answers for it. */
  readonly supersededBy?: string;
  /** Of the call that made it. @default 0 */
  readonly generation?: number;
  /** The result itself stands in context; the path is there for the older one that it supersedes. */
  readonly inline?: true;
  /** The run that pinned it last: a reset or a Workflow's retry is another run. Absent in older manifests. */
  readonly run?: string;
}

/** The manifest as stored under `manifests/<session>/<workflowId>`. */
export interface Manifest {
  readonly version: 1;
  readonly turn: TurnIdentity;
  /** The turn this one continues. */
  readonly continues?: string;
  readonly head: BlobRef | null;
  /** The run that last wrote here. Absent in older manifests. */
  readonly run?: string;
  /** Where another run had worked on the turn before that one: the step at which it came. */
  readonly runSince?: number;
  readonly files: readonly ManifestFile[];
  /** How the turn ended; absent while it is open. */
  readonly ended?: string;
  /** When it ended, by the Worker's clock; milliseconds since 1970. */
  readonly endedAt?: number;
  /** When this manifest last knew all that the turn refers to: what is newer and unknown may be the turn's. */
  readonly savedAt?: number;
  /** The turn's default rule. */
  readonly retention?: RetentionRule;
  /** Blobs that the turn refers to and that are no files: large arguments, inline texts of settled siblings. */
  readonly refs?: readonly BlobRef[];
  /** What the transcript's head and the blobs were when the sweep let them go: a hold that was there before brings them back. */
  readonly letGo?: { readonly head: BlobRef | null; readonly refs?: readonly BlobRef[] };
  /** While the turn waits for a person: what waits. */
  readonly waiting?: readonly { readonly callKey: string; readonly kind: WaitingKind; readonly since: number }[];
}
