// What Ctrl-C means once there is a turn: the first one asks it to cancel and waits for its end, the second one leaves it.
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../shared/errors.ts';
import { Interrupted } from './interrupts.ts';

/** What an interruption means at each stage of `run`. */
export interface Interruption {
  /** How many there were so far. */
  count: number;
  onInterrupt: () => void;
}

/** A turn that may be left. */
export interface LeavableTurn {
  /** Asks it to cancel. */
  readonly cancel: () => Promise<void>;
  readonly note: (text: string) => void;
  /** How to find it again, a line each. */
  readonly hints: readonly string[];
}

/** How long the request to cancel may take before a turn is left without it, in milliseconds. */
const LAST_WAIT_MS = 2_000;

/** Takes over the interruptions, those that came before included; rejects with `Interrupted` when the turn is to be left. */
export async function untilLeft(interruption: Interruption, turn: LeavableTurn): Promise<never> {
  return new Promise((_resolve, reject) => {
    let asked: Promise<void> | undefined;
    let isLeaving = false;
    const leave = (): void => {
      for (const hint of turn.hints) turn.note(hint);
      reject(new Interrupted());
    };
    interruption.onInterrupt = () => {
      if (asked === undefined) {
        turn.note('Cancelling the turn; once more leaves it running.');
        asked = turn.cancel().catch((error: unknown) => {
          turn.note(`The turn could not be asked to cancel: ${messageOf(error)}`);
        });
      } else if (isLeaving) {
        reject(new Interrupted());
      } else {
        isLeaving = true;
        // A request under way must not be lost with the connection.
        void Promise.race([asked, delay(LAST_WAIT_MS)]).then(leave);
      }
    };
    if (interruption.count > 0) interruption.onInterrupt();
  });
}
