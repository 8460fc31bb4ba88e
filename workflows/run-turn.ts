// The life of a turn: model call, tool calls, placement, commit, and so on until it ends. See the architecture page.
import { CancellationScope, DeterminismViolationError, isCancellation, patched } from '@temporalio/workflow';
import {
  decisionsOf,
  type CallModelInput,
  type CallModelResult,
  type StepCommit,
  type TurnFrame,
  type TurnIdentity,
} from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import type { ErrorRecord } from '../shared/errors.ts';
import type { BlobRef } from '../shared/file-store.ts';
import type { AgentTurnInput, AgentTurnResult, TurnEnd, TurnState } from '../shared/turn.ts';
import { callModel, commitStep, listTools } from './activities.ts';
import { exhaustedBudget, newMeter, recordUsage, type Meter } from './budget.ts';
import { commitParts } from './commit-parts.ts';
import { errorRecordOf } from './failures.ts';
import { COMMIT_IN_PARTS } from './patches.ts';
import type { ReadCounts } from './policy-check.ts';
import { settleCalls } from './tool-calls.ts';

/** What waits to be carried by the next Activity. */
type Pending = Pick<CallModelInput, 'frame' | 'continueFrom' | 'messages' | 'commit'>;

interface Ending {
  readonly status: TurnEnd;
  readonly answer: string | null;
  readonly answerRef?: BlobRef;
  readonly error: ErrorRecord | null;
}

/** A turn while it runs. */
export class Turn {
  private readonly input: AgentTurnInput;
  private readonly identity: TurnIdentity;
  private readonly reads: ReadCounts = new Map();
  private readonly open = new Set<string>();
  private readonly meter: Meter = newMeter();
  private pending: Pending;
  private head: BlobRef | null;
  private step = 0;
  private ended: TurnEnd | null = null;

  constructor(input: AgentTurnInput, workflowId: string) {
    this.input = input;
    const before = input.continueFrom;
    const session = input.session ?? before?.session ?? workflowId;
    this.identity = { workflowId, session, turn: (before?.turn ?? 0) + 1 };
    this.head = before?.head ?? null;
    const messages = [...input.spec.messages, ...(input.message ? [input.message] : [])];
    this.pending = { messages, ...(before && { continueFrom: before }) };
  }

  /** Where the turn stands. */
  state(): TurnState {
    const { session, turn } = this.identity;
    const openCalls = [...this.open];
    return { status: this.ended ?? 'running', session, turn, step: this.step, head: this.head, openCalls };
  }

  /** Runs the turn to its end. Cancellation and failures are ends too; only a changed decision throws. */
  async run(): Promise<AgentTurnResult> {
    const ending = await this.untilEnd();
    return this.finish(ending);
  }

  private async untilEnd(): Promise<Ending> {
    try {
      this.pending = { ...this.pending, frame: await this.frame() };
      for (; this.step < this.input.spec.config.iteration_limit; this.step++) {
        const ending = exhaustedBudget(this.meter, this.input.spec.config.budgets) ?? (await this.oneStep());
        if (ending) return ending;
      }
      return iterationLimit(this.input.spec.config.iteration_limit);
    } catch (failure) {
      if (failure instanceof DeterminismViolationError) throw failure;
      if (isCancellation(failure)) return cancelled();
      return { status: 'failed', answer: null, error: errorRecordOf(failure) };
    }
  }

  private async frame(): Promise<TurnFrame> {
    const { spec } = this.input;
    const catalog = await listTools({ turn: this.identity, servers: spec.mcp_servers });
    const { name: agent, model, instructions, response_format: responseFormat } = spec;
    return { agent, model, instructions, responseFormat, catalog: catalog.ref };
  }

  private async oneStep(): Promise<Ending | null> {
    const answer = await this.askModel();
    if (answer.toolCalls.length === 0) return endOf(answer);
    const { identity: turn, step, reads, open } = this;
    const commit = await settleCalls(answer.toolCalls, { turn, step, spec: this.input.spec, reads, open });
    this.pending = { messages: [], commit };
    return CancellationScope.current().consideredCancelled ? cancelled() : null;
  }

  private async askModel(): Promise<CallModelResult> {
    const { spec } = this.input;
    await this.commitAhead();
    const input = { turn: this.identity, step: this.step, head: this.head, ...this.pending };
    const answer = await callModel(input, spec.model.name);
    verifyDecisions(this.pending.commit, answer.decisionsDigest);
    this.head = answer.head;
    this.pending = { messages: [] };
    recordUsage(this.meter, answer);
    return answer;
  }

  /** Commits as much of what is pending as leaves a rest that fits into the next Activity's input. */
  private async commitAhead(): Promise<void> {
    const [first, ...others] = this.pending.commit ? commitParts(this.pending.commit) : [];
    if (!first || others.length === 0 || !patched(COMMIT_IN_PARTS)) return;
    const result = await commitStep({ turn: this.identity, head: this.head, messages: [], commit: first });
    verifyDecisions(first, result.decisionsDigest);
    this.head = result.head;
    const results = others.flatMap((part) => part.results);
    this.pending = { ...this.pending, commit: { step: first.step, results } };
    await this.commitAhead();
  }

  private async commitRest(ended: TurnEnd): Promise<void> {
    await this.commitAhead();
    const { name: agent, model } = this.input.spec;
    const invocation = { agent, model: model.name, startedMs: this.meter.startedMs };
    const result = await commitStep({ turn: this.identity, head: this.head, ...this.pending, ended, invocation });
    verifyDecisions(this.pending.commit, result.decisionsDigest);
    this.head = result.head;
  }

  /** Commits what is still pending, cancelled or not, and closes the manifest. */
  private async finish(ending: Ending): Promise<AgentTurnResult> {
    this.ended = ending.status;
    let error = ending.error;
    let { status } = ending;
    try {
      await CancellationScope.nonCancellable(() => this.commitRest(status));
    } catch (failure) {
      if (failure instanceof DeterminismViolationError) throw failure;
      error ??= errorRecordOf(failure);
      status = 'failed';
    }
    this.ended = status;
    const { session, turn } = this.identity;
    const { steps } = this.meter;
    return { ...ending, status, error, session, turn, head: this.head, steps };
  }
}

/**
 * Compares the decisions an Activity was given with those made now. The SDK's replay compares Activity ids and types, not
 * inputs: without this a changed rule would replay in silence. Fails the Workflow Task, as any nondeterminism does.
 */
function verifyDecisions(commit: StepCommit | undefined, recorded: string | undefined): void {
  if (!commit) return;
  const computed = digestOf(decisionsOf(commit));
  if (computed === recorded) return;
  throw new DeterminismViolationError(
    `DecisionMismatch: the decisions of step ${commit.step} have the digest ${computed}, but ${recorded ?? 'none'} is recorded. ` +
      'Code or history has changed: run the version that made this history, or gate the change with a patch.',
  );
}

function endOf(answer: CallModelResult): Ending {
  const error = unusable(answer);
  const status = error ? 'failed' : 'completed';
  if (answer.textRef) return { status, answer: null, answerRef: answer.textRef, error };
  return { status, answer: answer.text, error };
}

function unusable(answer: CallModelResult): ErrorRecord | null {
  if (answer.finishReason === 'length') {
    const message = `The model \`${answer.modelName}\` stopped at its output limit after ${answer.usage.outputTokens} tokens`;
    return { type: 'ModelAnswerTruncated', message, mend: 'Raise model.params.max_tokens, or ask for less.' };
  }
  if (answer.finishReason === 'refusal') {
    const message = `The model \`${answer.modelName}\` refused to answer: ${wordsOf(answer)}`;
    return { type: 'ModelAnswerFiltered', message, mend: 'Change the request, or use another model.' };
  }
  if (answer.finishReason === 'content-filter') {
    const message = `The provider of \`${answer.modelName}\` filtered the answer`;
    return { type: 'ModelAnswerFiltered', message, mend: 'Change the request, or use another model.' };
  }
  return null;
}

/** The beginning of its words; the whole is the turn's answer. */
function wordsOf({ text, textRef }: CallModelResult): string {
  if (textRef) return `(${textRef.bytes} bytes, see the answer)`;
  return text.length <= 500 ? text : `${text.slice(0, 500).toWellFormed()}…`;
}

function cancelled(): Ending {
  const error = { type: 'TurnCancelled', message: 'The turn was cancelled', mend: 'Continue it with --continue.' };
  return { status: 'cancelled', answer: null, error };
}

function iterationLimit(limit: number): Ending {
  const message = `The turn made ${limit} steps, its iteration_limit, without an answer`;
  const mend = 'Raise config.iteration_limit, or continue the turn.';
  return { status: 'iteration_limit', answer: null, error: { type: 'IterationLimit', message, mend } };
}
