// The bare Workflow that H5 is compared with: one Activity, a wait for an Update, one more Activity.
import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';

interface ParkedActivities {
  askParked(): Promise<string>;
  runParked(workflowId: string): Promise<string>;
}

const { askParked, runParked } = proxyActivities<ParkedActivities>({
  startToCloseTimeout: '1m',
  heartbeatTimeout: '10s',
});

/** Decides on the wait. */
export const decideParkedUpdate = defineUpdate<string, [string]>('decideParked');

/** Waits for a decision, then acts. */
export async function bareParked(workflowId: string): Promise<string> {
  let decision: string | null = null;
  setHandler(decideParkedUpdate, (given) => (decision = given), {
    validator: (given) => {
      if (given === '') throw new Error('an empty decision');
    },
  });
  await askParked();
  await condition(() => decision !== null);
  return runParked(workflowId);
}
