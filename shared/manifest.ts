// The record of a turn's files beside the files themselves: one manifest a turn, one writer. Source: architecture D8.
import type { TurnIdentity } from './activities.ts';
import type { FileFacts } from './facts.ts';
import type { BlobRef } from './file-store.ts';

/** The life of a file; later releases add what follows `pinned`. */
export type FileState = 'pinned' | 'superseded' | 'released' | 'deleted';

/** One file of a turn. */
export interface ManifestFile extends FileFacts {
  readonly state: FileState;
  /** The call that made it, and which tool. */
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  /** The Workflow that made it: this turn's own, or an earlier turn's whose files it keeps. */
  readonly origin: string;
}

/** The manifest as stored under `manifests/<session>/<workflowId>`. */
export interface Manifest {
  readonly version: 1;
  readonly turn: TurnIdentity;
  /** The turn this one continues. */
  readonly continues?: string;
  readonly head: BlobRef | null;
  readonly files: readonly ManifestFile[];
  /** How the turn ended; absent while it is open. */
  readonly ended?: string;
}
