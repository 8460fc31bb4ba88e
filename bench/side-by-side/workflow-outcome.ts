// How a Workflow ended, asked of the server in the same way for every system that runs on Temporal.
// Only types are imported: the competitors have an SDK of their own.
import type { Client, WorkflowHandle } from '@temporalio/client';
import { wordsOf, type RunOutcome } from './system-process.ts';

/** What to wait for. */
export interface WatchOptions {
  readonly limitMs: number;
  /** Reads a result: null when it is a good end, else what is wrong with it. */
  readonly faultOf: (result: unknown) => string | null;
}

/** Waits for the end or the limit; what still runs then is terminated, after its troubles were read. */
export async function watchWorkflow(client: Client, workflowId: string, options: WatchOptions): Promise<RunOutcome> {
  const handle = client.workflow.getHandle(workflowId);
  const ending = await untilEnd(handle, options);
  const description = await handle.describe();
  const record = {
    recordBytes: description.historySize ?? 0,
    events: description.historyLength,
    elsewhereBytes: 0,
  };
  if (ending.ended === 'completed') return { ...ending, ...record };
  const how = [ending.how, await lastWords(client, workflowId), pendingTrouble(description.raw)];
  if (ending.ended === 'timeout') await handle.terminate('over its time');
  return { ended: ending.ended, how: withoutRepeats(how).join('; '), ...record };
}

/** The client says of a termination what its event says. */
function withoutRepeats(texts: readonly string[]): string[] {
  return texts.filter(
    (text, index) =>
      text !== '' && !texts.some((other, at) => (other !== text || at < index) && at !== index && other.includes(text)),
  );
}

type Ending = Pick<RunOutcome, 'ended' | 'how'>;

async function untilEnd(handle: WorkflowHandle, { limitMs, faultOf }: WatchOptions): Promise<Ending> {
  const { promise: limit, resolve } = Promise.withResolvers<Ending>();
  const how = `still running after ${limitMs / 1000} s`;
  const timer = setTimeout(() => resolve({ ended: 'timeout', how }), limitMs);
  return Promise.race([endOf(handle, faultOf), limit]).finally(() => clearTimeout(timer));
}

async function endOf(handle: WorkflowHandle, faultOf: WatchOptions['faultOf']): Promise<Ending> {
  try {
    const fault = faultOf(await handle.result());
    return fault === null ? { ended: 'completed', how: '' } : { ended: 'died', how: fault };
  } catch (error) {
    return { ended: 'died', how: wordsOf(error) };
  }
}

/** What the last events say: why a Workflow was terminated, or why its tasks fail. */
async function lastWords(client: Client, workflowId: string): Promise<string> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: 3,
  });
  for (const event of history?.events ?? []) {
    const { reason } = event.workflowExecutionTerminatedEventAttributes ?? {};
    if (reason) return `terminated: ${reason}`;
    const { failure } = event.workflowTaskFailedEventAttributes ?? {};
    if (failure?.message) return `Workflow Task failed: ${failure.message}`;
  }
  return '';
}

type RawDescription = Awaited<ReturnType<WorkflowHandle['describe']>>['raw'];

function pendingTrouble(raw: RawDescription): string {
  const activity = raw.pendingActivities?.find((one) => (one.attempt ?? 0) > 1);
  if (activity) {
    return `${activity.activityType?.name} at attempt ${activity.attempt}: ${activity.lastFailure?.message ?? ''}`;
  }
  const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
  return attempt > 1 ? `Workflow Task at attempt ${attempt}` : '';
}
