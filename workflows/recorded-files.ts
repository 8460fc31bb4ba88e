// What a manifest that was lost while its turn ran is made of again: the files that history pins, in the order of their commits.
// Source: architecture D8.
import { ApplicationFailure } from '@temporalio/workflow';
import type { CommittedResult, RecordedFiles } from '../shared/activities.ts';
import { payloadBytes } from '../shared/payload-limit.ts';
import { errorRecordOf } from './failures.ts';

/** As much goes in the input of one Activity. Bytes. */
const PART_BYTES = 1_000_000;

/** The files of all committed results. Costs nothing but memory while the manifest is there. */
export class FilesOnRecord {
  private readonly results: RecordedFiles[] = [];
  /** A call whose newer result stands in the context itself: which path it supersedes, only the manifest knew. */
  private untold: string | null = null;

  /** Takes in what an Activity has committed. */
  committed(results: readonly CommittedResult[]): void {
    for (const result of results) {
      const { callKey, server, tool, file, blocks, written, blocksRef, retention, generation = 0, outcome } = result;
      if (generation > 0 && !file && outcome === 'ok') this.untold = callKey;
      const files = [...(file ? [file] : []), ...blocks, ...written].map(({ path, sha256, bytes, mediaType }) => {
        return { path, sha256, bytes, mediaType };
      });
      if (files.length === 0 && !blocksRef) continue;
      this.results.push({
        callKey,
        server,
        tool,
        files,
        supersedes: outcome === 'ok',
        ...(blocksRef && { blocksRef }),
        ...(retention && { retention }),
        ...(generation > 0 && { generation }),
      });
    }
  }

  /** In parts that fit into an Activity's input; one at least. Raises `PinsDiffer` where history does not say enough. */
  parts(): readonly (readonly RecordedFiles[])[] {
    if (this.untold !== null) throw this.differ(this.untold);
    const parts: RecordedFiles[][] = [[]];
    let partBytes = 0;
    for (const result of this.results) {
      const bytes = payloadBytes(result) + 1;
      if (partBytes > 0 && partBytes + bytes > PART_BYTES) {
        parts.push([]);
        partBytes = 0;
      }
      parts.at(-1)?.push(result);
      partBytes += bytes;
    }
    return parts;
  }

  private differ(callKey: string): ApplicationFailure {
    const count = this.results.reduce((sum, { files }) => sum + files.length, 0);
    return ApplicationFailure.create({
      type: 'PinsDiffer',
      message: `History pins ${count} files of the turn, and its manifest in the file store is gone; it cannot be made again from history, since call ${callKey} was made anew and history does not say which paths that superseded`,
      nonRetryable: true,
      details: [{ mend: 'Bring the manifest back from a copy of the store, or reset the turn to before that call.' }],
    });
  }
}

/** Makes a call that commits, and does what its result asks for; where the manifest was lost, has it made again first, once. */
export function withManifest<T, R>(
  call: () => Promise<T>,
  take: (result: T) => R,
  rebuild: () => Promise<void>,
): Promise<R> {
  return call().then(take, async (failure: unknown) => {
    if (errorRecordOf(failure).type !== 'ManifestMissing') throw failure;
    await rebuild();
    return take(await call());
  });
}
