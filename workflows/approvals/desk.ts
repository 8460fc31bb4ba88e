// Where the calls of a turn wait for a person: parks them, takes decisions, keeps deadlines, and sees that the pause is on
// record for as long as anything waits. Nothing here costs anything while nothing waits.
import { condition, isCancellation } from '@temporalio/workflow';
import type { CommitStepResult, PauseRecord, ProposedCall, TurnIdentity } from '../../shared/activities.ts';
import type { ApprovalEventType } from '../../shared/approval-events.ts';
import {
  REFUSED_ARGUMENT_BYTES,
  type ApprovalGrant,
  type DecidedCall,
  type ResolveApprovalInput,
  type ResolveApprovalResult,
  type WaitingCall,
} from '../../shared/approvals.ts';
import type { MadeBefore } from '../../shared/approval-texts.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { AgentTurnInput } from '../../shared/turn.ts';
import { isShown, showReminder, showWaiting } from './attributes.ts';
import { Grants } from './grants.ts';
import { Notices } from './notices.ts';
import { PauseKeeper } from './pause.ts';
import type { SettledCall } from '../../shared/results.ts';
import type { StepSoFar } from './pause-record.ts';
import { Timers, type Due } from './timers.ts';
import type { ChangedArguments, Wait, WaitEnd } from './wait.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** What a turn lends its desk. */
export interface DeskOptions {
  readonly input: AgentTurnInput;
  readonly turn: TurnIdentity;
  /** When the turn began, by the Workflow's clock. */
  readonly startedMs: number;
  /** Keys of calls that have no result yet. */
  readonly openCalls: ReadonlySet<string>;
  /** Puts a pause on record. */
  readonly commitPause: (pause: PauseRecord) => Promise<CommitStepResult>;
}

const WALL_TIME = 'wall-time';
const STATUS = 'status';
/** A server takes as long over Search Attributes as over all else of a decision: the call goes first, and they follow. */
const STATUS_LAG_MS = 1_000;
/** One notice tells of so many calls: its Activity has time for all, and its input fits into a payload. */
const NOTICE_CALLS = 50;

/** The desk of one turn. */
export class ApprovalDesk {
  readonly calls = new WaitingCalls();
  readonly grants: Grants;
  /** What was denied in this turn, by the call's digest. */
  readonly denials = new Map<string, DecidedCall>();
  /** Calls as they ran with a person's arguments, by call key: made again, they run with those, not with the model's. */
  readonly changedCalls = new Map<string, ProposedCall>();
  /** The catalog that has a server's tools, once the turn has one; changed arguments are checked against it. */
  catalogOf: ((server: string) => BlobRef) | undefined;
  /** The step whose calls are, or were last, under way. */
  stepUnderWay: StepSoFar = { step: 0, calls: [], settled: [] };
  /** Results of calls that a person had made again, until they are committed. */
  readonly madeAnew: SettledCall[] = [];
  private readonly options: DeskOptions;
  private readonly timers = new Timers();
  private readonly notices = new Notices();
  /** Waits that are on record, as keys. */
  private recorded: ReadonlySet<string> = new Set();
  /** Waits that have ended and are still to be told of. */
  private readonly ended: Wait[] = [];
  /** Whether what follows from a wait's end begins before it is told; not so in turns from before 2026-12-01. */
  private isToldLater = false;
  private readonly keeper: PauseKeeper;
  private checking = 0;
  /** Bytes of changed arguments that were refused so far, or are being checked. */
  private triedBytes = 0;

  constructor(options: DeskOptions) {
    this.options = options;
    const { spec, continueFrom } = options.input;
    const isSameSession = continueFrom?.session === options.turn.session;
    this.grants = new Grants(isSameSession ? (continueFrom.grants ?? []) : [], spec.config.approvals?.grantForMs);
    this.keeper = this.keeperOf(options);
  }

  get turn(): TurnIdentity {
    return this.options.turn;
  }

  /** What waits on record, for the turn's Query; empty while nothing does. */
  waiting(): readonly WaitingCall[] {
    return this.calls.open().filter((call) => this.recorded.has(recordKey(call)));
  }

  /** Grants that still hold, for turns that go on from here. */
  grantsNow(): readonly ApprovalGrant[] {
    return this.grants.held(Date.now());
  }

  /** Parks a call until its wait ends: by a decision, a deadline, or the turn's cancellation. */
  wait(asked: WaitingCall): Promise<WaitEnd> {
    const wait = this.calls.begin(asked);
    const { call } = wait;
    this.startTimers(call);
    this.keeper.begun();
    return condition(() => wait.end !== undefined).then(
      () => this.leave(wait),
      (failure: unknown) => {
        if (!isCancellation(failure)) throw failure;
        this.calls.end(call, { type: 'cancelled', at: Date.now(), why: 'turn' });
        return this.leave(wait);
      },
    );
  }

  /** Whether something of the step under way waits, or did just now. */
  get isKeeping(): boolean {
    return this.keeper.isKeeping;
  }

  /** Settles when no pause of this step is being put on record any more: the manifest has one writer. */
  stepSettled(): Promise<void> {
    return condition(() => !this.keeper.isKeeping);
  }

  /** Tells of the waits that have ended. Called as soon as the call that a person allowed has been begun. */
  tellEnds(): void {
    for (const { call, end } of this.ended.splice(0)) {
      if (end) this.tellEnd(call, end);
    }
  }

  /** A call of the turn has its result: what is still to be told of waits that have ended is told now. */
  callSettled(): void {
    this.tellEnds();
    this.show();
    this.keeper.settled();
  }

  /** Whether a call that a person was asked about had been made before; undefined while nothing is known of that. */
  madeBefore(callKey: string): MadeBefore | undefined {
    const call = this.calls.last(callKey);
    return call?.again ? 'again' : call?.sentBefore ? 'cut-off' : undefined;
  }

  /** Takes a decision. Raises nothing: a refusal is for the caller to tell. */
  decide(
    input: ResolveApprovalInput,
    changed?: ChangedArguments,
  ): ReturnType<WaitingCalls['judge']> | ResolveApprovalResult {
    return this.calls.decide(input, Date.now(), changed);
  }

  /** Whether so many bytes of changed arguments may be tried: what is refused stays in history, and history has an end. */
  hasRoomFor(bytes: number): boolean {
    return bytes === 0 || this.triedBytes + bytes <= REFUSED_ARGUMENT_BYTES;
  }

  /** Tries changed arguments of so many bytes; those that did not fit count from then on. */
  async tryChange<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    this.triedBytes += bytes;
    const result = await this.check(work);
    this.triedBytes -= bytes;
    return result;
  }

  /** Counts a decision that is being checked: the turn does not end before it has its answer. */
  private async check<T>(work: () => Promise<T>): Promise<T> {
    this.checking += 1;
    try {
      return await work();
    } finally {
      this.checking -= 1;
    }
  }

  /** At the turn's end: notices are out, and no decision is without its answer. */
  async close(): Promise<void> {
    this.callSettled();
    if (this.checking > 0) await condition(() => this.checking === 0);
    await this.notices.delivered();
  }

  private keeperOf({ input, openCalls, commitPause: commit }: DeskOptions): PauseKeeper {
    const { calls } = this;
    return new PauseKeeper({
      spec: input.spec,
      step: () => ({ ...this.stepUnderWay, settled: [...this.stepUnderWay.settled, ...this.madeAnew] }),
      open: () => calls.open(),
      isAllParked: () => openCalls.size === calls.open().length,
      isAlone: () => {
        const { calls: all, settled } = this.stepUnderWay;
        return openCalls.size === 1 && all.length === 1 && settled.length === 0;
      },
      commit,
      recorded: (fresh, { hooks, sentBefore = [] }) => {
        calls.sentBefore(sentBefore);
        this.tellWaiting(fresh, hooks);
      },
      failed: (problem) => {
        for (const call of calls.open()) calls.end(call, { type: 'unrecorded', at: Date.now(), problem });
      },
    });
  }

  private tellWaiting(fresh: readonly WaitingCall[], hooks: boolean | undefined): void {
    const open = this.calls.open();
    this.recorded = new Set([...this.recorded, ...fresh.map(recordKey)]);
    this.show();
    if (hooks !== undefined) {
      this.isToldLater = true;
      this.notices.isHeard = hooks;
    }
    if (hooks === false) return;
    const keys = new Set(fresh.map(recordKey));
    this.tell(
      'waiting',
      open.filter((call) => keys.has(recordKey(call))),
    );
  }

  private leave(wait: Wait): WaitEnd {
    const { call, end } = wait;
    if (!end) throw new TypeError(`${call.callKey} waits on`);
    const open = this.calls.open();
    if (!open.some((other) => other.since === call.since)) this.timers.stop(batchOf(call));
    if (open.length === 0) this.timers.stop(WALL_TIME);
    if (this.recorded.has(recordKey(call))) this.ended.push(wait);
    if (this.isToldLater) this.showSoon();
    else this.callSettled();
    return end;
  }

  private tellEnd(call: WaitingCall, end: WaitEnd): void {
    if (end.type === 'unrecorded') return;
    const decided = end.type === 'decided' ? { decided: end.decided } : {};
    this.send(end.type, [{ call, ...decided }]);
  }

  private show(): void {
    this.timers.stop(STATUS);
    showWaiting(this.turn.workflowId, this.waitingSince(), this.options.input);
  }

  private showSoon(): void {
    if (isShown(this.turn.workflowId, this.waitingSince(), this.options.input)) return;
    this.timers.start(STATUS, [{ afterMs: STATUS_LAG_MS, run: () => this.show() }]);
  }

  private waitingSince(): number | null {
    const waiting = this.waiting();
    return waiting.length === 0 ? null : Math.min(...waiting.map((call) => call.since));
  }

  private tell(event: ApprovalEventType, calls: readonly WaitingCall[]): void {
    this.send(
      event,
      calls.map((call) => ({ call })),
    );
  }

  private send(event: ApprovalEventType, calls: Parameters<Notices['send']>[0]['calls']): void {
    const { turn, input } = this.options;
    for (let from = 0; from < calls.length; from += NOTICE_CALLS) {
      const some = calls.slice(from, from + NOTICE_CALLS);
      this.notices.send({ turn, agent: input.spec.name, event, calls: some, at: Date.now() });
    }
  }

  private startTimers(call: WaitingCall): void {
    const { approvals, budgets } = this.options.input.spec.config;
    const batch = (): readonly WaitingCall[] => this.calls.open().filter((other) => other.since === call.since);
    const dues: Due[] = [];
    if (approvals?.remindAfterMs !== undefined) {
      dues.push({ afterMs: approvals.remindAfterMs, run: () => this.remind(batch()) });
    }
    if (approvals?.deadlineMs !== undefined) {
      dues.push({ afterMs: approvals.deadlineMs, run: () => this.lapse(batch()) });
    }
    this.timers.start(batchOf(call), dues);
    if (budgets.wall_time_ms === undefined) return;
    const leftMs = this.options.startedMs + budgets.wall_time_ms - Date.now();
    this.timers.start(WALL_TIME, [{ afterMs: leftMs, run: () => this.runOut() }]);
  }

  private remind(batch: readonly WaitingCall[]): void {
    const at = Date.now();
    for (const call of batch) this.calls.remind(call, at);
    showReminder(at, this.options.input);
    this.tell('reminder', batch);
  }

  private lapse(batch: readonly WaitingCall[]): void {
    for (const call of batch) this.calls.lapse(call, Date.now());
  }

  private runOut(): void {
    const end = { type: 'cancelled', at: Date.now(), why: 'wall-time' } as const;
    for (const call of this.calls.open()) this.calls.end(call, end);
  }
}

/** Calls of one batch began to wait at the same time. */
function batchOf({ since }: WaitingCall): string {
  return `since-${since}`;
}

function recordKey({ callKey, digest }: WaitingCall): string {
  return `${callKey} ${digest}`;
}
