// The life of a turn: model call, tool calls, placement, commit, and so on until it ends. See the architecture page.
import { CancellationScope, DeterminismViolationError, isCancellation, patched } from '@temporalio/workflow';
import {
  decidedBy,
  decisionsOf,
  type CallModelInput,
  type CallModelResult,
  type CommitStepResult,
  type LoadCatalogInput,
  type PauseRecord,
  type RetriedResult,
  type StepCommit,
  type TurnFrame,
  type TurnIdentity,
} from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import type { CatalogFacts } from '../shared/catalog.ts';
import type { BlobRef } from '../shared/file-store.ts';
import type { RetentionRule } from '../shared/retention.ts';
import type { AgentTurnInput, AgentTurnResult, TurnEnd, TurnState, TurnStatus } from '../shared/turn.ts';
import { callModel, commitStep, listTools, loadCatalog } from './activities.ts';
import { ApprovalDesk } from './approvals/desk.ts';
import { takeDecisions } from './approvals/handler.ts';
import { exhaustedBudget, newMeter, recordUsage, type Meter } from './budget.ts';
import { TurnCatalogs } from './catalogs.ts';
import { commitParts } from './commit-parts.ts';
import { cancelled, endOf, iterationLimit, type Ending } from './endings.ts';
import { errorRecordOf } from './failures.ts';
import { COMMIT_IN_PARTS } from './patches.ts';
import type { CallCounts } from './policy-check.ts';
import { FilesOnRecord, withManifest } from './recorded-files.ts';
import { RecordedPins } from './resume-check.ts';
import { Retries } from './retries.ts';
import { takeRetries } from './retry-call.ts';
import { settleCalls } from './tool-calls.ts';

/** A turn that works on without a pause gives the manifest its head this often. Source: architecture D8. */
const SAVE_HEAD_MS = 3_600_000;

/** What waits to be carried by the next Activity. */
type Pending = Pick<CallModelInput, 'frame' | 'continueFrom' | 'messages' | 'commit'>;

/** What a model call tells beside what is pending. */
interface ModelNews extends Pick<CallModelInput, 'resume'> {
  readonly retried: readonly RetriedResult[];
}

/** A commit that is too large for one Activity's input. */
interface CommitParts {
  readonly first: StepCommit;
  readonly others: readonly StepCommit[];
}

/** A turn while it runs. */
export class Turn {
  private readonly input: AgentTurnInput;
  private readonly identity: TurnIdentity;
  private readonly counts: CallCounts;
  private readonly open = new Set<string>();
  private readonly meter: Meter = newMeter();
  private readonly desk: ApprovalDesk;
  private readonly retries: Retries;
  private readonly pins = new RecordedPins();
  private readonly files = new FilesOnRecord();
  /** What the manifest was begun with. */
  private opening: Pick<Pending, 'frame' | 'continueFrom'> = {};
  /** Set once the turn knows its servers; never in turns from before deferral. */
  private catalogs: TurnCatalogs | undefined;
  private pending: Pending;
  private head: BlobRef | null;
  private step = 0;
  private ended: TurnEnd | null = null;
  /** When the manifest was last given the head. */
  private headSavedMs = 0;

  constructor(input: AgentTurnInput, workflowId: string) {
    this.input = input;
    this.counts = { reads: new Map(), ...(input.deferral && { faults: new Set<string>() }) };
    const before = input.continueFrom;
    const session = input.session ?? before?.session ?? workflowId;
    this.identity = { workflowId, session, turn: (before?.turn ?? 0) + 1 };
    this.head = before?.head ?? null;
    const messages = [...input.spec.messages, ...(input.message ? [input.message] : [])];
    this.pending = { messages, ...(before && { continueFrom: before }) };
    this.desk = new ApprovalDesk({
      input,
      turn: this.identity,
      startedMs: this.meter.startedMs,
      openCalls: this.open,
      commitPause: (pause) => this.commitPause(pause),
    });
    takeDecisions(this.desk);
    this.retries = new Retries({
      turn: this.identity,
      spec: input.spec,
      desk: this.desk,
      openCalls: this.open,
      catalogs: () => this.catalogs,
    });
    takeRetries(this.retries);
  }

  /** Where the turn stands. */
  state(): TurnState {
    const { session, turn } = this.identity;
    const openCalls = [...this.open];
    const waiting = this.desk.waiting();
    const status: TurnStatus = this.ended ?? (waiting.length > 0 ? 'waiting' : 'running');
    const where = { status, session, turn, step: this.step, head: this.head, openCalls };
    return waiting.length > 0 ? { ...where, waiting } : where;
  }

  /**
   * Runs the turn to its end, and tells how it ended. Cancellation and failures are ends too; only a changed decision throws.
   * Here and in what follows nothing is awaited that need not be: of each promise the SDK takes a stack trace.
   */
  run(ended?: (status: TurnEnd) => void): Promise<AgentTurnResult> {
    return this.untilEnd().then((ending) => this.finish(ending, ended));
  }

  private async untilEnd(): Promise<Ending> {
    try {
      const frame = this.frameOf(await this.listTools());
      const { continueFrom } = this.pending;
      this.pending = { ...this.pending, frame };
      this.opening = { frame, ...(continueFrom && { continueFrom }) };
      for (; this.step < this.input.spec.config.iteration_limit; this.step++) {
        const exhausted = this.exhausted();
        if (exhausted) return exhausted;
        const ahead = this.dueAhead();
        const isDue = ahead !== null || this.isAnythingDue;
        const answer = await this.askModel(isDue ? await this.settleDue(ahead) : { retried: this.retries.toTell });
        const ending = answer.toolCalls.length > 0 ? await this.callTools(answer) : await this.endUnlessRetried(answer);
        if (ending) return ending;
      }
      return iterationLimit(this.input.spec.config.iteration_limit);
    } catch (failure) {
      if (failure instanceof DeterminismViolationError) throw failure;
      if (isCancellation(failure)) return cancelled();
      return { status: 'failed', answer: null, error: errorRecordOf(failure) };
    }
  }

  private exhausted(): Ending | null {
    return exhaustedBudget(this.meter, this.input.spec.config.budgets, this.catalogs?.isWhole === false);
  }

  private listTools(): Promise<CatalogFacts> {
    const { spec, deferral } = this.input;
    const askUserQuestions = spec.config.ask_user_questions?.enabled === true;
    const asked = { ...(askUserQuestions && { askUserQuestions }), ...(deferral && { deferral }) };
    return listTools({ turn: this.identity, servers: spec.mcp_servers, ...asked });
  }

  private frameOf(catalog: CatalogFacts): TurnFrame {
    const { spec, deferral } = this.input;
    const { mcp_servers: servers } = spec;
    const turn = this.identity;
    if (deferral) {
      const load = (input: Omit<LoadCatalogInput, 'turn'>): ReturnType<typeof loadCatalog> =>
        loadCatalog({ turn, ...input });
      this.catalogs = new TurnCatalogs({ servers, facts: catalog, load });
    }
    this.desk.catalogOf = (server) => this.catalogs?.refOf(server) ?? catalog.ref;
    const { name: agent, model, instructions, response_format: responseFormat } = spec;
    const retention = spec.config.retention && ruleOf(spec.config.retention);
    return { agent, model, instructions, responseFormat, catalog: catalog.ref, ...(retention && { retention }) };
  }

  private callTools({ toolCalls }: CallModelResult): Promise<Ending | null> {
    this.retries.proposed(toolCalls);
    const { identity: turn, step, counts, open, desk, catalogs } = this;
    const settled = settleCalls(toolCalls, {
      turn,
      step,
      spec: this.input.spec,
      counts,
      open,
      desk,
      ...(catalogs && { catalogs }),
      judged: (call) => this.retries.proposed([call]),
    });
    return settled.then((commit) => {
      this.pending = { messages: [], commit };
      return CancellationScope.current().consideredCancelled ? cancelled() : null;
    });
  }

  /** An answer from before a person's distrust is none: the model is told of the new result, and answers again. */
  private async endUnlessRetried(answer: CallModelResult): Promise<Ending | null> {
    const ending = endOf(answer);
    const { iteration_limit: limit } = this.input.spec.config;
    const untold = await this.retries.settled();
    const mayGoOn = ending.status === 'completed' && this.step + 1 < limit && !this.exhausted();
    return untold.length > 0 && mayGoOn ? null : ending;
  }

  private get isAnythingDue(): boolean {
    return this.retries.isUnderWay || this.catalogs?.isOutdated === true || this.pins.isCheckDue;
  }

  /** What must have happened before the model is asked again. */
  private async settleDue(ahead: CommitParts | null): Promise<ModelNews> {
    if (ahead) await this.commitAhead(ahead);
    if (this.catalogs && this.retries.isUnderWay) await this.retries.settled();
    // What changed while calls ran is known before the model is asked again.
    if (this.catalogs?.isOutdated) await this.catalogs.renew();
    const retried = this.retries.isUnderWay ? await this.retries.settled() : this.retries.toTell;
    const resume = this.pins.isCheckDue ? await this.pins.check(this.identity) : undefined;
    return { retried, ...(resume && { resume }) };
  }

  private askModel({ retried, resume }: ModelNews): Promise<CallModelResult> {
    const saveHead = Date.now() - this.headSavedMs >= SAVE_HEAD_MS && !this.pending.frame;
    if (saveHead || this.pending.frame) this.headSavedMs = Date.now();
    const where = { turn: this.identity, step: this.step, head: this.head };
    const news = { ...(retried.length > 0 && { retried }), ...(resume && { resume }), ...(saveHead && { saveHead }) };
    const input = { ...where, ...this.pending, ...news, ...this.loaded() };
    const { name: model } = this.input.spec.model;
    return this.kept(
      () => callModel(input, model),
      (answer) => {
        verifyDecisions(decidedBy(input), answer.decisionsDigest);
        this.head = answer.head;
        this.pins.compared();
        this.committed(this.pending.commit, retried);
        this.pending = { messages: [] };
        recordUsage(this.meter, answer);
        return answer;
      },
    );
  }

  /** The catalogs that the turn has loaded, where it has. */
  private loaded(): Pick<CallModelInput, 'catalogs'> {
    const catalogs = this.catalogs?.refs() ?? [];
    return catalogs.length > 0 ? { catalogs } : {};
  }

  /** What is pending, in parts of which the last fits into the next Activity's input; null where all of it does. */
  private dueAhead(): CommitParts | null {
    const [first, ...others] = this.pending.commit ? commitParts(this.pending.commit) : [];
    return first && others.length > 0 && patched(COMMIT_IN_PARTS) ? { first, others } : null;
  }

  /** Commits all but the last part. */
  private async commitAhead(ahead: CommitParts): Promise<void> {
    for (let due: CommitParts | null = ahead; due; due = this.dueAhead()) {
      const { first, others } = due;
      const input = { turn: this.identity, head: this.head, messages: [], commit: first, ...this.loaded() };
      await this.kept(
        () => commitStep(input),
        (result) => {
          verifyDecisions(first, result.decisionsDigest);
          this.head = result.head;
          this.committed(first, []);
        },
      );
      const results = others.flatMap((part) => part.results);
      this.pending = { ...this.pending, commit: { step: first.step, results } };
    }
  }

  /** Puts a pause on record: no transcript is written, and the head stays. */
  private commitPause(pause: PauseRecord): Promise<CommitStepResult> {
    this.headSavedMs = Date.now();
    const begunAt = this.pins.commitsNow;
    const input = { turn: this.identity, head: this.head, messages: [], pause, ...this.loaded() };
    return this.kept(
      () => commitStep(input),
      (result) => {
        this.pins.paused(pause, begunAt);
        return result;
      },
    );
  }

  /** A call that commits; a manifest that was lost meanwhile is made again from what history pins. */
  private kept<T, R>(call: () => Promise<T>, take: (result: T) => R): Promise<R> {
    return withManifest(call, take, async () => {
      const where = { turn: this.identity, head: this.head, messages: [], ...this.opening, ...this.loaded() };
      for (const rebuild of this.files.parts()) await commitStep({ ...where, rebuild });
    });
  }

  private committed(commit: StepCommit | undefined, retried: readonly RetriedResult[]): void {
    if (commit) this.retries.committed(commit.results);
    this.retries.told(retried);
    const results = [...(commit?.results ?? []), ...retried.map((one) => one.result)];
    this.pins.committed(results);
    this.files.committed(results);
    // What was read may read otherwise now.
    if (retried.length > 0) this.counts.reads.clear();
  }

  private async commitRest(ended: TurnEnd, answerRef: BlobRef | undefined): Promise<void> {
    const ahead = this.dueAhead();
    if (ahead) await this.commitAhead(ahead);
    const { name: agent, model } = this.input.spec;
    const invocation = { agent, model: model.name, startedMs: this.meter.startedMs };
    const retried = await this.retries.close();
    const news = { ...(retried.length > 0 && { retried }), ...(answerRef && { refs: [answerRef] }) };
    const input = {
      turn: this.identity,
      head: this.head,
      ...this.pending,
      ...news,
      ...this.loaded(),
      ended,
      invocation,
    };
    await this.kept(
      () => commitStep(input),
      (result) => {
        verifyDecisions(decidedBy(input), result.decisionsDigest);
        this.head = result.head;
      },
    );
  }

  /** Commits what is still pending, cancelled or not, and closes the manifest. */
  private async finish(ending: Ending, ended?: (status: TurnEnd) => void): Promise<AgentTurnResult> {
    this.ended = ending.status;
    let error = ending.error;
    let { status } = ending;
    try {
      await CancellationScope.nonCancellable(() => this.commitRest(status, ending.answerRef));
      await CancellationScope.nonCancellable(() => this.desk.close());
    } catch (failure) {
      if (failure instanceof DeterminismViolationError) throw failure;
      error ??= errorRecordOf(failure);
      status = 'failed';
    }
    this.ended = status;
    const { session, turn } = this.identity;
    const { steps } = this.meter;
    const grants = this.desk.grantsNow();
    ended?.(status);
    const end = { ...ending, status, error, session, turn, head: this.head, steps };
    return grants.length > 0 ? { ...end, grants } : end;
  }
}

function ruleOf({ class: name, afterTurnMs, maxAgeMs }: RetentionRule): RetentionRule {
  return { ...(name !== undefined && { class: name }), afterTurnMs, ...(maxAgeMs !== undefined && { maxAgeMs }) };
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
