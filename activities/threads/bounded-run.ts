// Runs somebody else's logic, such as a server's schema, for a bounded time on this thread: V8 itself ends it. A thread of its own
// would bound it too, but cost more than the check of an ordinary schema.
import { createContext, Script } from 'node:vm';

/** What ran longer than it may. */
export class TimeIsUp extends Error {}

const script = new Script('work()');
const globals: { work?: () => unknown } = {};
const context = createContext(globals);

/**
 * Gives what `work` gives. It must not wait for anything, and all that it changes must be thrown away when it is ended.
 *
 * @throws `TimeIsUp` after `timeoutMs` milliseconds; what `work` throws
 */
export function runBounded<T>(timeoutMs: number, work: () => T): T {
  const outcome: { value?: T } = {};
  globals.work = () => {
    outcome.value = work();
  };
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TimeIsUp(`not done within ${timeoutMs} ms`, { cause: error });
  } finally {
    delete globals.work;
  }
  // It was set, for `work` has ended.
  return outcome.value as T;
}
