// The trap in a Worker process: ends it as `kill -9` does, once, at the boundary it is armed for.
import fs from 'node:fs';
import type { Moment, WorkerPlan } from './plan.ts';

/** Springs at one boundary. */
export interface Trap {
  isArmedFor(boundary: Moment): boolean;
  /** Ends the process if it is armed for the boundary; does not return then. */
  spring(boundary: Moment): void;
  /** The key of the call whose completion is a boundary. */
  readonly target: string;
}

/** Arms the trap of a plan; one that has sprung in an earlier process stays still. */
export function armTrap({ boundary, marker, target }: WorkerPlan): Trap {
  const armed = boundary !== null && !fs.existsSync(marker) ? boundary : null;
  return {
    target,
    isArmedFor: (candidate) => candidate === armed,
    spring(candidate) {
      if (candidate !== armed) return;
      fs.writeFileSync(marker, candidate, { flush: true });
      process.kill(process.pid, 'SIGKILL');
      // The signal is on its way: nothing of this thread may happen any more.
      for (;;);
    },
  };
}
