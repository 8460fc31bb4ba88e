// A turn as its history records it: what was asked, what came back, what was decided. Grows event by event.
import type { Client } from '@temporalio/client';
import type {
  CallModelInput,
  CallModelResult,
  CallToolInput,
  CommitStepInput,
  CommitStepResult,
  CommittedResult,
  JudgeCallInput,
  LoadCatalogInput,
  NotifyInput,
  ProposedCall,
  StepCommit,
  TurnIdentity,
} from '../shared/activities.ts';
import type { CatalogFacts, ServerCatalogFacts } from '../shared/catalog.ts';
import type { ErrorRecord } from '../shared/errors.ts';
import type { ResultFacts } from '../shared/facts.ts';
import type { ResolveApprovalResult } from '../shared/approvals.ts';
import { isObject } from '../shared/json.ts';
import type { AgentTurnInput, AgentTurnResult, TurnEnd } from '../shared/turn.ts';
import { AskedCalls, type AskedCall } from './asked-calls.ts';
import { decodeFirst, type HistoryEvent } from './history.ts';

/** A result that a newer generation of its call took the place of. */
export interface EarlierResult {
  readonly generation: number;
  readonly facts?: ResultFacts;
  readonly committed?: CommittedResult;
}

/** A tool call with what is known of it so far. */
export interface CallRecord {
  /** As judged, once its server's catalog was loaded. */
  proposed: ProposedCall;
  input?: CallToolInput;
  /** When its request was first asked for: milliseconds since 1970, of the server's clock. */
  startedMs?: number;
  facts?: ResultFacts;
  /** Set once the step is committed. */
  committed?: CommittedResult;
  /** Results of earlier generations, oldest first. */
  readonly earlier: EarlierResult[];
}

/** A step with what is known of it so far. */
export interface StepRecord {
  readonly index: number;
  model?: CallModelResult;
  readonly calls: CallRecord[];
  commit?: StepCommit;
  commitDigest?: string;
}

/** A server's catalog as the turn came to know it, and what for. */
export interface LoadedCatalog extends ServerCatalogFacts {
  readonly reason: LoadCatalogInput['reason'];
}

/** A turn with what is known of it so far. */
export interface TurnRecord {
  readonly workflowId: string;
  input?: AgentTurnInput;
  turn?: TurnIdentity;
  /** When it began, in the form of `CallRecord.startedMs`; of a turn in line, with its first Activity. */
  startedMs?: number;
  catalog?: CatalogFacts;
  /** Catalogs of servers that were loaded when they were needed, in order. */
  readonly loaded: LoadedCatalog[];
  readonly steps: StepRecord[];
  result?: AgentTurnResult;
  /** How the turn's last commit says that it ended; all there is of a turn in line. */
  ended?: TurnEnd;
  /** The execution closed without a result: terminated, timed out, or failed. */
  closed?: ErrorRecord;
  /** Calls that people were asked about. */
  readonly asked: AskedCalls;
  events: number;
}

/** What an event told, for those who watch. */
export type TurnNews =
  | { readonly type: 'catalog'; readonly catalog: CatalogFacts }
  /** A server was asked in the middle of the turn. */
  | { readonly type: 'loaded'; readonly facts: ServerCatalogFacts }
  | { readonly type: 'model-asked'; readonly step: number }
  | { readonly type: 'committed'; readonly step: StepRecord }
  | { readonly type: 'model-answered'; readonly step: StepRecord }
  | { readonly type: 'call-started'; readonly call: CallRecord }
  | { readonly type: 'call-ended'; readonly call: CallRecord }
  /** Calls that wait for a person from now on. */
  | { readonly type: 'waiting'; readonly calls: readonly AskedCall[] }
  /** A person decided. */
  | { readonly type: 'decided'; readonly call: AskedCall }
  | { readonly type: 'ended' };

type Scheduled =
  | { readonly name: 'longshoreListTools' }
  | { readonly name: 'longshoreLoadCatalog'; readonly input: LoadCatalogInput }
  | { readonly name: 'longshoreJudgeCall'; readonly input: JudgeCallInput }
  | { readonly name: 'longshoreCallModel'; readonly input: CallModelInput }
  | { readonly name: 'longshoreCallTool'; readonly input: CallToolInput }
  | { readonly name: 'longshoreCommitStep'; readonly input: CommitStepInput };

/** Builds a record from events in order. */
export class TurnRecorder {
  readonly record: TurnRecord;
  private readonly client: Pick<Client, 'options'>;
  private readonly scheduled = new Map<string, Scheduled>();

  constructor(client: Pick<Client, 'options'>, workflowId: string) {
    this.client = client;
    this.record = { workflowId, loaded: [], steps: [], asked: new AskedCalls(), events: 0 };
  }

  /** Takes one event in; says what it told, if anything. */
  async add(event: HistoryEvent): Promise<readonly TurnNews[]> {
    this.record.events = Number(event.eventId);
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) {
      this.record.input = await decodeFirst<AgentTurnInput>(this.client, started.input);
      if (isTurn(this.record.input)) this.began(event);
    }
    if (event.activityTaskScheduledEventAttributes) return this.addScheduled(event);
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) return this.addCompleted(String(completed.scheduledEventId), completed.result);
    if (event.workflowExecutionUpdateAcceptedEventAttributes) return this.addAccepted(event);
    if (event.workflowExecutionUpdateCompletedEventAttributes) return this.addDecided(event);
    return this.addClose(event);
  }

  private async addScheduled(event: HistoryEvent): Promise<readonly TurnNews[]> {
    const attributes = event.activityTaskScheduledEventAttributes;
    const name = attributes?.activityType?.name;
    const id = String(event.eventId);
    switch (name) {
      case 'longshoreListTools':
        this.scheduled.set(id, { name });
        this.began(event);
        return [];
      case 'longshoreLoadCatalog':
        this.scheduled.set(id, { name, input: await decodeFirst<LoadCatalogInput>(this.client, attributes?.input) });
        return [];
      case 'longshoreJudgeCall':
        this.scheduled.set(id, { name, input: await decodeFirst<JudgeCallInput>(this.client, attributes?.input) });
        return [];
      case 'longshoreCallModel': {
        const input = await decodeFirst<CallModelInput>(this.client, attributes?.input);
        this.scheduled.set(id, { name, input });
        this.record.turn ??= input.turn;
        return [...this.addCommit(input), ...this.addRetried(input), { type: 'model-asked', step: input.step }];
      }
      case 'longshoreCommitStep': {
        const input = await decodeFirst<CommitStepInput>(this.client, attributes?.input);
        this.scheduled.set(id, { name, input });
        this.record.turn ??= input.turn;
        return [...this.addCommit(input), ...this.addRetried(input), ...this.addPause(input)];
      }
      case 'longshoreNotify':
        this.record.asked.addNotice(await decodeFirst<NotifyInput>(this.client, attributes?.input));
        return [];
      case 'longshoreCallTool': {
        const input = await decodeFirst<CallToolInput>(this.client, attributes?.input);
        this.scheduled.set(id, { name, input });
        this.record.asked.addStarted(input.turn.workflowId, input.callKey);
        const call = this.findCall(input.callKey);
        if (!call) return [];
        if (call.input && input.generation > call.input.generation) keepEarlier(call, call.input.generation);
        call.input = input;
        const startedMs = timeOf(event);
        if (startedMs !== undefined) call.startedMs ??= startedMs;
        return [{ type: 'call-started', call }];
      }
      default:
        return [];
    }
  }

  private async addCompleted(
    scheduledId: string,
    payloads: Parameters<typeof decodeFirst>[1],
  ): Promise<readonly TurnNews[]> {
    const scheduled = this.scheduled.get(scheduledId);
    switch (scheduled?.name) {
      case 'longshoreListTools': {
        const catalog = await decodeFirst<CatalogFacts>(this.client, payloads);
        this.record.catalog = catalog;
        return [{ type: 'catalog', catalog }];
      }
      case 'longshoreLoadCatalog': {
        const facts = await decodeFirst<ServerCatalogFacts>(this.client, payloads);
        this.record.loaded.push({ ...facts, reason: scheduled.input.reason });
        return [{ type: 'loaded', facts }];
      }
      case 'longshoreJudgeCall': {
        const judged = await decodeFirst<ProposedCall>(this.client, payloads);
        const call = this.findCall(judged.callKey);
        if (call) call.proposed = judged;
        return [];
      }
      case 'longshoreCallModel':
        return [this.addAnswer(scheduled.input, await decodeFirst<CallModelResult>(this.client, payloads))];
      case 'longshoreCallTool': {
        const call = this.findCall(scheduled.input.callKey);
        if (!call) return [];
        call.facts = await decodeFirst<ResultFacts>(this.client, payloads);
        // That of an earlier generation, which the record keeps beside it.
        if ((call.committed?.generation ?? 0) < scheduled.input.generation) delete call.committed;
        return [{ type: 'call-ended', call }];
      }
      case 'longshoreCommitStep': {
        // `ended` is one of the ends: the Workflow writes nothing else there.
        const { turn, ended, pause } = scheduled.input;
        if (ended !== undefined) this.record.ended = ended as TurnEnd;
        if (!pause) return [];
        const { sentBefore = [] } = await decodeFirst<CommitStepResult>(this.client, payloads);
        this.record.asked.addSentBefore(turn, sentBefore);
        return [];
      }
      case undefined:
        return [];
    }
  }

  private began(event: HistoryEvent): void {
    const startedMs = timeOf(event);
    if (startedMs !== undefined) this.record.startedMs ??= startedMs;
  }

  private addAnswer(input: CallModelInput, answer: CallModelResult): TurnNews {
    const calls = answer.toolCalls.map((proposed): CallRecord => ({ proposed, earlier: [] }));
    const step: StepRecord = { index: input.step, model: answer, calls };
    this.record.steps[input.step] = step;
    const before = input.commit && this.record.steps[input.commit.step];
    if (before && answer.decisionsDigest !== undefined) before.commitDigest = answer.decisionsDigest;
    return { type: 'model-answered', step };
  }

  private addCommit({ turn, commit }: Pick<CommitStepInput, 'turn' | 'commit'>): TurnNews[] {
    const step = commit && this.record.steps[commit.step];
    if (!step) return [];
    // A large commit comes in parts; one that is tried again, by another Activity, tells nothing new.
    const known = new Set(step.commit?.results.map(resultKey));
    const added = commit.results.filter((result) => !known.has(resultKey(result)));
    if (added.length === 0) return [];
    step.commit = { step: commit.step, results: [...(step.commit?.results ?? []), ...added] };
    for (const committed of added) {
      const call = this.findCall(committed.callKey);
      if (call) call.committed = committed;
      this.record.asked.addEnded(turn.workflowId, committed.callKey);
    }
    return [{ type: 'committed', step }];
  }

  /** Results that were made anew take the place of those that were committed. */
  private addRetried({ retried = [] }: Pick<CommitStepInput, 'retried'>): readonly TurnNews[] {
    const told = new Set<StepRecord>();
    for (const { result } of retried) {
      const call = this.findCall(result.callKey);
      if (!call || (call.committed && resultKey(call.committed) === resultKey(result))) continue;
      call.committed = result;
      const step = this.record.steps.find(({ calls }) => calls.includes(call));
      if (step) told.add(step);
    }
    return [...told].map((step) => ({ type: 'committed', step }));
  }

  private addPause({ turn, pause }: CommitStepInput): readonly TurnNews[] {
    const calls = pause ? this.record.asked.addPause(turn, pause) : [];
    return calls.length === 0 ? [] : [{ type: 'waiting', calls }];
  }

  private async addAccepted(event: HistoryEvent): Promise<readonly TurnNews[]> {
    const input = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    const decision = input?.args ? await decodeFirst<unknown>(this.client, input.args) : null;
    this.record.asked.addAccepted(String(event.eventId), input?.name, decision);
    return [];
  }

  private async addDecided(event: HistoryEvent): Promise<readonly TurnNews[]> {
    const { acceptedEventId, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
    const accepted = String(acceptedEventId);
    // A failure leaves the call waiting.
    if (!outcome?.success || !this.record.asked.isDecision(accepted)) return [];
    const result = await decodeFirst<ResolveApprovalResult>(this.client, outcome.success);
    const call = this.record.asked.addDecided(accepted, result);
    return call ? [{ type: 'decided', call }] : [];
  }

  private async addClose(event: HistoryEvent): Promise<readonly TurnNews[]> {
    const completed = event.workflowExecutionCompletedEventAttributes;
    if (completed) {
      this.record.asked.close();
      // A user's own Workflow with a turn in line has a result of its own.
      const result = await decodeFirst<AgentTurnResult | null>(this.client, completed.result);
      if (isObject(result) && 'status' in result && 'head' in result) this.record.result = result;
      return [{ type: 'ended' }];
    }
    const closed = closeReason(event);
    if (!closed) return [];
    this.record.closed = closed;
    this.record.asked.close();
    return [{ type: 'ended' }];
  }

  private findCall(callKey: string): CallRecord | undefined {
    return this.record.steps.flatMap((step) => step.calls).find((call) => call.proposed.callKey === callKey);
  }
}

/** Seconds come as a number or as a `Long`, by how the history was read. */
function timeOf({ eventTime }: HistoryEvent): number | undefined {
  if (!eventTime) return undefined;
  return Number(eventTime.seconds ?? 0) * 1_000 + Math.floor((eventTime.nanos ?? 0) / 1_000_000);
}

/** A user's own Workflow with a turn in line has an input of its own. */
function isTurn(input: unknown): boolean {
  return isObject(input) && 'spec' in input && 'version' in input;
}

function keepEarlier(call: CallRecord, generation: number): void {
  const { facts, committed } = call;
  call.earlier.push({ generation, ...(facts && { facts }), ...(committed && { committed }) });
}

/** A call that is made anew is committed anew. */
function resultKey({ callKey, generation = 0 }: CommittedResult): string {
  return `${callKey}+${generation}`;
}

function closeReason(event: HistoryEvent): ErrorRecord | null {
  const mend = 'See the execution in Temporal; a turn ended in this way cannot be continued.';
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) {
    return {
      type: 'TurnTerminated',
      message: `The turn was terminated: ${terminated.reason || 'no reason given'}`,
      mend,
    };
  }
  if (event.workflowExecutionTimedOutEventAttributes) {
    return { type: 'TurnTerminated', message: 'The turn passed its execution timeout', mend };
  }
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) return { type: 'Internal', message: failed.failure?.message ?? 'The Workflow failed', mend };
  if (event.workflowExecutionCanceledEventAttributes)
    return { type: 'TurnCancelled', message: 'The turn was cancelled', mend };
  return null;
}
