// Says in words for the model why a thread's job was stopped.
import { SandboxFault } from './files.ts';
import { clip } from './text.ts';
import { JobStopped } from './threads.ts';

/** A job's end as a fault for the model; whatever else was thrown stays what it is. */
export function stoppedFault(thrown: unknown, what: string, advice: string): unknown {
  if (!(thrown instanceof JobStopped)) return thrown;
  const { reason, message } = thrown;
  if (reason === 'time') return new SandboxFault(`${what} was ${message}. ${advice}`);
  if (reason === 'memory') return new SandboxFault(`${what} needed more memory than it may have. ${advice}`);
  return new SandboxFault(`${what} failed: ${clip(message, 300)}. ${advice}`);
}
