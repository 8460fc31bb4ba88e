// The Activities as the Workflow calls them: by name, with the table's timeouts and a summary for Temporal's Web UI.
import {
  ActivityCancellationType,
  ApplicationFailure,
  scheduleActivity,
  type ActivityOptions,
} from '@temporalio/workflow';
import type {
  CallModelInput,
  CallModelResult,
  CallToolInput,
  CheckArgumentsInput,
  CheckArgumentsResult,
  CommitStepInput,
  CommitStepResult,
  JudgeCallInput,
  ListToolsInput,
  LoadCatalogInput,
  NotifyInput,
  NotifyResult,
  ProposedCall,
  VerifyFilesInput,
  VerifyFilesResult,
} from '../shared/activities.ts';
import { ACTIVITY_SETTINGS } from '../shared/activity-options.ts';
import type { CatalogFacts, ServerCatalogFacts } from '../shared/catalog.ts';
import type { ResultFacts } from '../shared/facts.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';

/** Asks every server of the spec what it offers. */
export function listTools(input: ListToolsInput): Promise<CatalogFacts> {
  return schedule('longshoreListTools', input, {
    ...ACTIVITY_SETTINGS.listTools,
    summary: summaryOf(`tools of ${input.servers.map((server) => server.name).join(', ') || 'sandbox'}`),
  });
}

/** Asks one server what it offers; a cancelled one is not waited for. */
export function loadCatalog(input: LoadCatalogInput): Promise<ServerCatalogFacts> {
  return schedule('longshoreLoadCatalog', input, {
    ...ACTIVITY_SETTINGS.loadCatalog,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: summaryOf(`tools of ${input.server.name}: ${input.reason}`),
  });
}

/** Judges a call by the catalog that was loaded for it. */
export function judgeCall(input: JudgeCallInput): Promise<ProposedCall> {
  return schedule('longshoreJudgeCall', input, {
    ...ACTIVITY_SETTINGS.judgeCall,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: summaryOf(`${input.call.callKey} ${input.call.server}.${input.call.tool}`),
  });
}

/** One model call; a cancelled one is not waited for. */
export function callModel(input: CallModelInput, model: string): Promise<CallModelResult> {
  return schedule('longshoreCallModel', input, {
    ...ACTIVITY_SETTINGS.callModel,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: summaryOf(`step ${input.step}: ${model}`),
  });
}

/** One tool call; a cancelled one is waited for, since it may have finished all the same. */
export function callTool(input: CallToolInput): Promise<ResultFacts> {
  return schedule('longshoreCallTool', input, {
    ...ACTIVITY_SETTINGS.callTool,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(`${input.callKey} ${input.server}.${input.tool}`),
  });
}

/** Commits a step on its own, when no model call follows. */
export function commitStep(input: CommitStepInput): Promise<CommitStepResult> {
  return schedule('longshoreCommitStep', input, {
    ...ACTIVITY_SETTINGS.commitStep,
    summary: summaryOf(summaryOfCommit(input)),
  });
}

/** Compares a part of the pins on record, when a turn that waited goes on. */
export function verifyFiles(input: VerifyFilesInput): Promise<VerifyFilesResult> {
  return schedule('longshoreVerifyFiles', input, {
    ...ACTIVITY_SETTINGS.verifyFiles,
    summary: summaryOf(`${input.resume.pins.length} pins`),
  });
}

function summaryOfCommit({ ended, pause }: CommitStepInput): string {
  if (pause) return `waits: ${pause.waiting.map((call) => `${call.callKey} ${call.server}.${call.tool}`).join(', ')}`;
  return ended ? `end: ${ended}` : 'commit';
}

/** Checks the arguments that a person puts in place of the model's. */
export function checkArguments(input: CheckArgumentsInput): Promise<CheckArgumentsResult> {
  return schedule('longshoreCheckArguments', input, {
    ...ACTIVITY_SETTINGS.checkArguments,
    summary: summaryOf(`${input.callKey} ${input.server}.${input.tool}: changed arguments`),
  });
}

/** Tells the Worker's hook of what waits. */
export function notify(input: NotifyInput): Promise<NotifyResult> {
  return schedule('longshoreNotify', input, {
    ...ACTIVITY_SETTINGS.notify,
    summary: summaryOf(`${input.event}: ${input.calls.map(({ call }) => call.callKey).join(', ')}`),
  });
}

/** Checked before the command leaves: a payload that Temporal refuses would fail the Workflow Task for ever. */
function schedule<T>(name: string, input: object, options: ActivityOptions): Promise<T> {
  const sizeBytes = payloadBytes(input);
  if (sizeBytes <= PAYLOAD_LIMIT_BYTES) return scheduleActivity<T>(name, [input], options);
  const failure = ApplicationFailure.create({
    type: 'SizeLimit',
    message: `The input of Activity \`${name}\` has ${sizeBytes} bytes; the limit is ${PAYLOAD_LIMIT_BYTES}`,
    nonRetryable: true,
    details: [
      { mend: 'Put large data where a tool can read it: shorten the spec, its messages, or the user message.' },
    ],
  });
  return Promise.reject(failure);
}

/** Temporal takes 400 bytes; non-ASCII characters may take four each. */
function summaryOf(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
