// The Activities as the Workflow calls them: by name, with the table's timeouts and a summary for Temporal's Web UI.
import { ActivityCancellationType, scheduleActivity } from '@temporalio/workflow';
import type {
  CallModelInput,
  CallModelResult,
  CallToolInput,
  CommitStepInput,
  CommitStepResult,
  ListToolsInput,
} from '../shared/activities.ts';
import { ACTIVITY_SETTINGS } from '../shared/activity-options.ts';
import type { CatalogFacts } from '../shared/catalog.ts';
import type { ResultFacts } from '../shared/facts.ts';

/** Asks every server of the spec what it offers. */
export function listTools(input: ListToolsInput): Promise<CatalogFacts> {
  return scheduleActivity('longshoreListTools', [input], {
    ...ACTIVITY_SETTINGS.listTools,
    summary: summaryOf(`tools of ${input.servers.map((server) => server.name).join(', ') || 'sandbox'}`),
  });
}

/** One model call; a cancelled one is not waited for. */
export function callModel(input: CallModelInput, model: string): Promise<CallModelResult> {
  return scheduleActivity('longshoreCallModel', [input], {
    ...ACTIVITY_SETTINGS.callModel,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: summaryOf(`step ${input.step}: ${model}`),
  });
}

/** One tool call; a cancelled one is waited for, since it may have finished all the same. */
export function callTool(input: CallToolInput): Promise<ResultFacts> {
  return scheduleActivity('longshoreCallTool', [input], {
    ...ACTIVITY_SETTINGS.callTool,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(`${input.callKey} ${input.server}.${input.tool}`),
  });
}

/** Commits a step on its own, when no model call follows. */
export function commitStep(input: CommitStepInput): Promise<CommitStepResult> {
  return scheduleActivity('longshoreCommitStep', [input], {
    ...ACTIVITY_SETTINGS.commitStep,
    summary: summaryOf(input.ended ? `end: ${input.ended}` : 'commit'),
  });
}

/** Temporal takes 400 bytes; non-ASCII characters may take four each. */
function summaryOf(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
