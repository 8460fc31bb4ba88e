// What a job in another thread or process may use, and how its end by a limit is told.
import { messageOf } from '../../shared/errors.ts';
import { SandboxFault } from './files.ts';
import { clip } from './text.ts';

/** What a job may use. */
export interface JobLimits {
  /** From the moment the job was taken. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A job that was not finished; `reason` says which limit it met. */
export class JobStopped extends Error {
  readonly reason: 'time' | 'memory' | 'failed';

  constructor(reason: 'time' | 'memory' | 'failed', message: string) {
    super(message);
    this.name = 'JobStopped';
    this.reason = reason;
  }
}

/** The end of a job by its time limit. */
export function timedOut(timeoutMs: number): JobStopped {
  return new JobStopped('time', `stopped after ${timeoutMs / 1000} seconds`);
}

/** A job's end as a fault for the model; whatever else was thrown stays what it is. */
export function stoppedFault(thrown: unknown, what: string, advice: string): unknown {
  if (!(thrown instanceof JobStopped)) return thrown;
  const { reason } = thrown;
  if (reason === 'time') return new SandboxFault(`${what} was ${messageOf(thrown)}. ${advice}`);
  if (reason === 'memory') return new SandboxFault(`${what} needed more memory than it may have. ${advice}`);
  return new SandboxFault(`${what} failed: ${clip(messageOf(thrown), 300)}. ${advice}`);
}
