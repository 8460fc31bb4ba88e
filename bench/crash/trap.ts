// The trap in a Worker process: ends it as `kill -9` does, once, at the boundary it is armed for.
import fs from 'node:fs';
import type { BoundaryName, WorkerPlan } from './plan.ts';

/** Springs at one boundary. */
export interface Trap {
  isArmedFor(boundary: BoundaryName): boolean;
  /** Ends the process if it is armed for the boundary; does not return then. */
  spring(boundary: BoundaryName): void;
  readonly variant: number;
}

/** Arms the trap of a plan; one that has sprung in an earlier process stays still. */
export function armTrap({ boundary, marker, variant }: WorkerPlan): Trap {
  const armed = boundary !== null && !fs.existsSync(marker) ? boundary : null;
  return {
    variant,
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
