// Approvals as a state machine: whatever the order of decisions, deadlines, results and cancellations, every call ends in
// exactly one result, nothing runs that nobody allowed, and nothing runs twice unless a person said so. The code under test is
// the Workflow's own; only what runs a call, and what waits for the next event, is lent to it here.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ProposedCall } from '../../shared/activities.ts';
import type {
  ApprovalDecision,
  ApprovalSettings,
  DecidedCall,
  ResolveApprovalInput,
  WaitingCall,
} from '../../shared/approvals.ts';
import { outcomeOf, spoken, type SettledCall } from '../../shared/results.ts';
import { settleGated, settleQuestion, type Asking } from '../../workflows/approvals/gated-call.ts';
import { Grants } from '../../workflows/approvals/grants.ts';
import type { ChangedArguments, WaitEnd } from '../../workflows/approvals/wait.ts';
import { WaitingCalls } from '../../workflows/approvals/waiting-calls.ts';

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 }));
afterAll(() => void vi.useRealTimers());

interface Run {
  readonly callKey: string;
  readonly generation: number;
  readonly digest: string;
  finish?: (settled: SettledCall) => void;
  readonly call: ProposedCall;
}

/** A turn's approvals with everything around them in the hands of the test. */
class Turn {
  readonly calls = new WaitingCalls();
  readonly grants = new Grants([], 10_000);
  readonly denials = new Map<string, DecidedCall>();
  readonly changedCalls = new Map<string, ProposedCall>();
  readonly asked: ProposedCall[] = [];
  readonly results = new Map<string, SettledCall[]>();
  readonly runs: Run[] = [];
  /** Decisions that were accepted, in order. */
  readonly accepted: ResolveApprovalInput[] = [];
  isCancelled = false;
  private readonly settings: ApprovalSettings;
  private readonly waits: { readonly call: WaitingCall; readonly resolve: (end: WaitEnd) => void }[] = [];

  constructor(settings: ApprovalSettings) {
    this.settings = settings;
  }

  /** A step's worth of calls, made at once. */
  ask(calls: readonly ProposedCall[]): void {
    for (const call of calls) {
      this.asked.push(call);
      const asking: Asking = {
        desk: this,
        settings: this.settings,
        isCancelled: () => this.isCancelled,
        run: (allowed, generation) => this.run(allowed, generation),
      };
      const settled = call.server === 'longshore' ? settleQuestion(call, asking) : settleGated(call, '@write', asking);
      void settled.then((one) => this.results.set(call.callKey, [...(this.results.get(call.callKey) ?? []), one]));
    }
  }

  wait(call: WaitingCall): Promise<WaitEnd> {
    const wait = this.calls.begin(call);
    return new Promise((resolve) => this.waits.push({ call: wait.call, resolve }));
  }

  tellEnds(): void {}

  madeBefore(): undefined {}

  decide(input: ResolveApprovalInput, changed?: ChangedArguments): ReturnType<WaitingCalls['decide']> {
    const outcome = this.calls.decide(input, Date.now(), changed);
    if (!('type' in outcome)) this.accepted.push(input);
    return outcome;
  }

  /** Lets time pass; a deadline's timer fires after what came before it. */
  advance(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
    for (const call of this.calls.open()) {
      if (call.expiresAt !== null && call.expiresAt <= Date.now()) this.calls.lapse(call, Date.now());
    }
  }

  cancel(): void {
    this.isCancelled = true;
    for (const call of this.calls.open()) this.calls.end(call, { type: 'cancelled', at: Date.now(), why: 'turn' });
  }

  /** Wakes whoever waits for something that has ended, and lets all go on as far as it can. */
  async settle(): Promise<void> {
    for (let round = 0; round < 5; round += 1) {
      for (const wait of this.waits.splice(0)) {
        const end = this.calls.endOf(wait.call);
        if (end) wait.resolve(end);
        else this.waits.push(wait);
      }
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    }
  }

  private run(call: ProposedCall, generation: number): Promise<SettledCall> {
    const { callKey, argumentsDigest: digest } = call;
    return new Promise((finish) => this.runs.push({ callKey, generation, digest, finish, call }));
  }
}

function proposed(index: number, digest: string, isQuestion: boolean): ProposedCall {
  return {
    callKey: `t1/0/${index}`,
    callId: `call_${index}`,
    name: 'desk__change',
    server: isQuestion ? 'longshore' : 'desk',
    tool: isQuestion ? 'ask_user_question' : `change_${digest.slice(0, 1)}`,
    arguments: isQuestion ? { question: digest } : { n: digest },
    argumentsDigest: isQuestion ? `question ${digest}` : digest,
    schemaHash: '',
    tags: ['@write'],
    effect: 'write',
  };
}

/** What must hold after every event. */
function check(turn: Turn): void {
  for (const results of turn.results.values()) expect(results).toHaveLength(1);
  const keys = turn.runs.map((run) => `${run.callKey} ${run.generation}`);
  expect(new Set(keys).size).toBe(keys.length);
  for (const { callKey } of turn.asked) {
    const decisions = turn.accepted.filter((input) => input.callKey === callKey).map((input) => input.decision);
    const again = decisions.filter((one) => one.type === 'outcome' && one.choice === 'run-again').length;
    const runs = turn.runs.filter((run) => run.callKey === callKey);
    expect(runs.length).toBeLessThanOrEqual(1 + again);
    const [result] = turn.results.get(callKey) ?? [];
    const isRefused = result !== undefined && ['denied', 'expired'].includes(outcomeOf(result));
    const isDenied = decisions.some((one) => one.type === 'deny');
    must(runs.length === 0 || !(isRefused || isDenied), `${callKey} ran, though it was refused`);
    must(runs.length === 0 || !result || result.decided?.callKey === callKey, `${callKey} ran, and nobody is named`);
  }
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

class Ask implements fc.AsyncCommand<object, Turn> {
  readonly digests: readonly string[];
  readonly isQuestion: boolean;
  constructor(digests: readonly string[], isQuestion: boolean) {
    this.digests = digests;
    this.isQuestion = isQuestion;
  }
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    if (turn.isCancelled) return;
    const from = turn.asked.length;
    turn.ask(this.digests.map((digest, index) => proposed(from + index, digest, this.isQuestion)));
    await turn.settle();
    check(turn);
  }
  toString = () => `ask ${this.digests.join(' ')}${this.isQuestion ? ' as questions' : ''}`;
}

/** What a person might say to each kind of wait; `other` is of a kind picked at random. */
interface Say {
  readonly at: number;
  readonly approval: ApprovalDecision;
  readonly question: ApprovalDecision;
  readonly outcome: ApprovalDecision;
  readonly other: 'approval' | 'question' | 'outcome' | null;
  readonly isStale: boolean;
  readonly clients: number;
}

class Decide implements fc.AsyncCommand<object, Turn> {
  readonly say: Say;
  constructor(say: Say) {
    this.say = say;
  }
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    const { at, isStale, clients, other } = this.say;
    const open = turn.calls.open();
    const target = open[at % Math.max(1, open.length)];
    const callKey = target?.callKey ?? `t1/0/${at}`;
    const digest = isStale || !target ? 'stale' : target.digest;
    const decision = this.say[other ?? target?.kind ?? 'approval'];
    const input = { workflowId: 'turn', callKey, digest, decision, approver: 'ann' };
    const args = decision.type === 'approve' ? decision.arguments : undefined;
    const changed = args && { arguments: args, digest: `changed ${JSON.stringify(args)}` };
    // Several clients at the same instant: one of them decides, the others are told that it stands.
    const outcomes = Array.from({ length: clients }, () => turn.decide(input, changed));
    const [first, ...others] = outcomes;
    const isAccepted = first !== undefined && !('type' in first);
    must(!(isStale && isAccepted), 'a stale decision was accepted');
    for (const one of others) {
      must('type' in one && (one.type === 'repeat' ? one.result.repeated : !isAccepted), 'two clients were accepted');
    }
    await turn.settle();
    check(turn);
  }
  toString = () => `decide ${JSON.stringify(this.say)}`;
}

class Resend implements fc.AsyncCommand<object, Turn> {
  readonly at: number;
  constructor(at: number) {
    this.at = at;
  }
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    const input = turn.accepted.at(-1 - (this.at % Math.max(1, turn.accepted.length)));
    if (!input) return;
    const args = input.decision.type === 'approve' ? input.decision.arguments : undefined;
    const outcome = turn.decide(input, args && { arguments: args, digest: `changed ${JSON.stringify(args)}` });
    must('type' in outcome && outcome.type === 'repeat', 'a decision sent again is the one that stands');
    await turn.settle();
    check(turn);
  }
  toString = () => `resend ${this.at}`;
}

class Finish implements fc.AsyncCommand<object, Turn> {
  readonly at: number;
  readonly outcome: 'ok' | 'error' | 'unknown';
  constructor(at: number, outcome: 'ok' | 'error' | 'unknown') {
    this.at = at;
    this.outcome = outcome;
  }
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    const running = turn.runs.filter((run) => run.finish);
    const run = running[this.at % Math.max(1, running.length)];
    if (!run) return;
    run.finish?.({ call: run.call, result: { spoken: spoken(this.outcome, 'result') } });
    delete run.finish;
    await turn.settle();
    check(turn);
  }
  toString = () => `finish ${this.at} ${this.outcome}`;
}

class Advance implements fc.AsyncCommand<object, Turn> {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    turn.advance(this.ms);
    await turn.settle();
    check(turn);
  }
  toString = () => `advance ${this.ms}`;
}

class Cancel implements fc.AsyncCommand<object, Turn> {
  check = () => true;
  async run(_model: object, turn: Turn): Promise<void> {
    turn.cancel();
    await turn.settle();
    check(turn);
  }
  toString = () => 'cancel';
}

const say: fc.Arbitrary<Say> = fc.record({
  at: fc.nat({ max: 5 }),
  approval: fc.oneof(
    { weight: 3, arbitrary: fc.constant<ApprovalDecision>({ type: 'approve' }) },
    fc.constant<ApprovalDecision>({ type: 'approve', forSession: true }),
    fc.nat({ max: 3 }).map((n): ApprovalDecision => ({ type: 'approve', arguments: { n: `other ${n}` } })),
    fc.constant<ApprovalDecision>({ type: 'deny' }),
  ),
  question: fc.constantFrom<ApprovalDecision>({ type: 'answer', text: 'yes' }, { type: 'deny' }),
  outcome: fc
    .constantFrom('run-again' as const, 'run-again' as const, 'done' as const, 'give-up' as const)
    .map((choice): ApprovalDecision => ({ type: 'outcome', choice })),
  other: fc.constantFrom(null, null, null, null, null, null, null, 'approval', 'question', 'outcome'),
  isStale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  clients: fc.integer({ min: 1, max: 3 }),
});
const commands = fc.commands(
  [
    fc
      .tuple(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 4, size: 'max' }), fc.boolean())
      .map(([digests, isQuestion]) => new Ask(digests, isQuestion)),
    say.map((one) => new Decide(one)),
    say.map((one) => new Decide(one)),
    fc.nat({ max: 3 }).map((at) => new Resend(at)),
    fc
      .tuple(
        fc.nat({ max: 5 }),
        fc.constantFrom('ok' as const, 'error' as const, 'unknown' as const, 'unknown' as const),
      )
      .map(([at, outcome]) => new Finish(at, outcome)),
    fc.integer({ min: 1, max: 4_000 }).map((ms) => new Advance(ms)),
    fc.constant(new Cancel()),
  ],
  // By default sequences are short; a second wait of one call takes some events.
  { maxCommands: 60, size: 'max' },
);
const settings = fc.record({
  deadlineMs: fc.constantFrom(1_000, 5_000, 1_000_000),
  onDeadline: fc.constantFrom('expire' as const, 'deny' as const, 'approve' as const),
});

describe('calls that wait for a person', () => {
  it('[ASK-8] end in exactly one result each, and none runs twice or unallowed, whatever happens in whatever order', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(settings, commands, async (rules, sequence) => {
        const turn = new Turn(rules);
        await fc.asyncModelRun(() => ({ model: {}, real: turn }), sequence);
        turn.cancel();
        await turn.settle();
        for (const run of turn.runs) run.finish?.({ call: run.call, result: { spoken: spoken('ok', 'result') } });
        await turn.settle();
        turn.cancel();
        await turn.settle();
        check(turn);
        expect([...turn.results.keys()].sort()).toEqual(turn.asked.map((call) => call.callKey).sort());
        for (const [result] of turn.results.values()) if (result) seen.add(outcomeOf(result));
      }),
      { numRuns: 400 },
    );
    expect([...seen].sort()).toEqual(['cancelled', 'denied', 'error', 'expired', 'ok', 'unknown']);
  });
});
