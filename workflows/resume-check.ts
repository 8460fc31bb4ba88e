// What a turn pins, as its own history records it: kept in step with every commit, and sent along with the first model call
// after a wait, to be compared with the store's manifest. Source: architecture D8.
import type { CommittedResult, PauseRecord, RecordedPin, ResumeCheck, TurnIdentity } from '../shared/activities.ts';
import type { FileFacts } from '../shared/facts.ts';
import type { BlobRef } from '../shared/file-store.ts';
import { payloadBytes } from '../shared/payload-limit.ts';
import { verifyFiles } from './activities.ts';

/** As much goes in a model call's own input, beside a step's commit; some 700 files. Bytes. */
const INLINE_BYTES = 100_000;
/** As much goes in the input of an Activity of its own. Bytes. */
const PART_BYTES = 1_000_000;

/** The pins of one turn. Costs nothing but memory while the turn does not wait. */
export class RecordedPins {
  private readonly pins = new Map<string, RecordedPin>();
  private readonly blockLists = new Map<string, BlobRef>();
  /** Commits so far, and which of them was a call's last. */
  private commits = 0;
  private readonly lastCommits = new Map<string, number>();
  /** Pauses so far; how many of them the check under way knows, and how many were compared. */
  private pauses = 0;
  private checking = 0;
  private checked = 0;

  /** Takes in what an Activity has committed. */
  committed(results: readonly CommittedResult[]): void {
    this.commits += 1;
    for (const { callKey } of results) this.lastCommits.set(callKey, this.commits);
    const settled = new Set(results.map((result) => result.callKey));
    for (const [path, pin] of this.pins)
      if (pin.staged !== undefined && settled.has(pin.staged)) this.pins.delete(path);
    for (const { file, blocks, written, blocksRef } of results) {
      for (const one of [...(file ? [file] : []), ...blocks, ...written]) this.pins.set(one.path, pinOf(one));
      if (blocksRef) this.blockLists.set(blocksRef.sha256, blocksRef);
    }
  }

  /** How far commits are, for a pause that is being put on record. */
  get commitsNow(): number {
    return this.commits;
  }

  /**
   * Takes in what a pause holds; the next model call compares. `begunAt`: how far commits were when the pause was begun. What was
   * committed beside it is held no longer.
   */
  paused({ staged }: PauseRecord, begunAt: number): void {
    this.pauses += 1;
    for (const { callKey, files, blocksRef } of staged) {
      if ((this.lastCommits.get(callKey) ?? 0) > begunAt) continue;
      if (blocksRef) this.blockLists.set(blocksRef.sha256, blocksRef);
      for (const file of files)
        if (!this.pins.has(file.path)) this.pins.set(file.path, { ...pinOf(file), staged: callKey });
    }
  }

  /** Whether the turn has waited since the last check. */
  get isCheckDue(): boolean {
    return this.checked !== this.pauses;
  }

  /**
   * What the next model call compares, where that is due; what is too much for its input is compared by
   * Activities ahead. Rejects with their `PinsDiffer`. Call `compared` when the model call has succeeded.
   */
  async check(turn: TurnIdentity): Promise<ResumeCheck> {
    this.checking = this.pauses;
    const pins = [...this.pins.values()];
    const blockLists = [...this.blockLists.values()];
    const whole = { pins, blockLists, complete: true };
    if (payloadBytes(whole) <= INLINE_BYTES) return whole;
    for (const part of partsOf(pins)) {
      await verifyFiles({ turn, resume: { pins: part, blockLists: [], complete: false } });
    }
    return { pins: [], blockLists: blockLists.slice(0, 500), complete: false };
  }

  /** Nothing is due until the next pause; one that came since the check is still to be compared. */
  compared(): void {
    this.checked = Math.max(this.checked, this.checking);
  }
}

function pinOf({ path, sha256, bytes }: FileFacts): RecordedPin {
  return { path, sha256, bytes };
}

function partsOf(pins: readonly RecordedPin[]): readonly (readonly RecordedPin[])[] {
  const parts: RecordedPin[][] = [];
  let partBytes = Number.POSITIVE_INFINITY;
  for (const pin of pins) {
    const bytes = payloadBytes(pin) + 1;
    if (partBytes + bytes > PART_BYTES) {
      parts.push([]);
      partBytes = 0;
    }
    parts.at(-1)?.push(pin);
    partBytes += bytes;
  }
  return parts;
}
