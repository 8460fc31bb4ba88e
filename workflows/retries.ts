// Calls of a turn that a person has made again, from the request to what the next commit tells: it pins the newer files and
// supersedes the older ones, and the turn makes no further step before that.
import { ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { CommittedResult, ProposedCall, RetriedResult, TurnIdentity } from '../shared/activities.ts';
import type { RetryCallInput, RetryCallResult } from '../shared/approvals.ts';
import { digestOf } from '../shared/digest.ts';
import type { ErrorType } from '../shared/errors.ts';
import type { SettledCall } from '../shared/results.ts';
import { PEOPLE_SERVER } from '../shared/sandbox-tools.ts';
import type { ApprovalDesk } from './approvals/desk.ts';
import { noteOf, settleGated } from './approvals/gated-call.ts';
import type { TurnCatalogs } from './catalogs.ts';
import { gateOf } from './policy-check.ts';
import { place, runCall } from './tool-calls.ts';

/** What a turn lends. */
export interface RetryOptions {
  readonly turn: TurnIdentity;
  readonly spec: AgentSpec;
  readonly desk: ApprovalDesk;
  /** Keys of calls that have no result; a call that is made again is among them meanwhile. */
  readonly openCalls: Set<string>;
  /** What the turn knows of its servers' tools. */
  readonly catalogs: () => TurnCatalogs | undefined;
}

/** Results made anew that no commit has told yet: all of them stand in one Activity's input. */
const MOST_AT_ONCE = 5;

/** A person's wish to have a call made again. */
interface Request {
  readonly id: string;
  readonly again: Omit<RetriedResult, 'result'>;
}

interface KnownCall {
  readonly call: ProposedCall;
  /** Null until its step is committed. */
  result: CommittedResult | null;
  generation: number;
}

/** The calls of a turn that may be made again, and those that are. */
export class Retries {
  private readonly options: RetryOptions;
  private readonly calls = new Map<string, KnownCall>();
  /** What the turn's own scope is; that of the calls made again is one of its own, once there is one. */
  private readonly parent = CancellationScope.current();
  private scope: CancellationScope | undefined;
  private readonly running = new Set<Promise<void>>();
  private untold: readonly RetriedResult[] = [];
  private isOver = false;

  constructor(options: RetryOptions) {
    this.options = options;
  }

  get turn(): TurnIdentity {
    return this.options.turn;
  }

  /** Takes in what the model asked for; again, a call that was judged late. */
  proposed(calls: readonly ProposedCall[]): void {
    for (const call of calls) this.calls.set(call.callKey, { call, result: null, generation: 0 });
  }

  /** Takes in what a commit has told. */
  committed(results: readonly CommittedResult[]): void {
    for (const result of results) {
      const known = this.calls.get(result.callKey);
      if (!known) continue;
      known.result = result;
      known.generation = Math.max(known.generation, result.generation ?? 0);
    }
  }

  /** Whether a call is being made again. */
  get isUnderWay(): boolean {
    return this.running.size > 0;
  }

  /** What the next commit tells of those that have settled. */
  get toTell(): readonly RetriedResult[] {
    return this.untold;
  }

  /** What the next commit tells, once nothing is under way any more. */
  async settled(): Promise<readonly RetriedResult[]> {
    while (this.running.size > 0) await Promise.all(this.running);
    return this.untold;
  }

  /** They stand in the transcript. */
  told(retried: readonly RetriedResult[]): void {
    this.untold = this.untold.filter((one) => !retried.includes(one));
    this.committed(retried.map((one) => one.result));
    const anew = this.options.desk.madeAnew;
    const keys = new Set(retried.map((one) => one.result.callKey));
    anew.splice(0, anew.length, ...anew.filter(({ call }) => !keys.has(call.callKey)));
  }

  /** At the turn's end: what still runs is cancelled, and no further call is made again. */
  async close(): Promise<readonly RetriedResult[]> {
    this.isOver = true;
    this.scope?.cancel();
    return this.settled();
  }

  /** Why a call cannot be made again now, or null. Changes nothing. */
  refusal({ callKey }: RetryCallInput): ApplicationFailure | null {
    const known = this.calls.get(callKey);
    const name = `Call \`${callKey}\` of turn \`${this.turn.workflowId}\``;
    if (this.isOver) return refuse('TurnClosed', `${name} cannot be made again: the turn has ended`, 'ended');
    if (!known) return refuse('CallNotFound', `${name} is not there. Its calls: ${this.named()}`, 'unknown');
    const state = this.stateOf(known);
    if (state !== null) return refuse('CallNotRetryable', `${name} ${state.words}`, state.word);
    const waiting = this.running.size + this.untold.length;
    if (waiting < MOST_AT_ONCE) return null;
    return refuse(
      'CallNotRetryable',
      `${name} cannot be made again now: ${waiting} others are, or are still to be told`,
      'busy',
    );
  }

  /** Begins to make a call again; `id` names the request. */
  begin({ callKey, by, reason }: RetryCallInput, id: string): RetryCallResult {
    const known = this.calls.get(callKey);
    if (!known) throw new TypeError(`${callKey} was not refused`);
    known.generation += 1;
    const again = { by, ...(reason !== undefined && { reason }) };
    const { generation } = known;
    this.options.openCalls.add(callKey);
    this.scope ??= new CancellationScope({ cancellable: true, parent: this.parent });
    const work = this.scope
      .run(() => this.make(known.call, generation, { id, again }))
      .then((settled) => this.keep(known, settled, again))
      .finally(() => this.running.delete(work));
    this.running.add(work);
    return { callKey, generation };
  }

  private keep(known: KnownCall, settled: SettledCall, told: Omit<RetriedResult, 'result'>): void {
    const { desk, spec, openCalls } = this.options;
    openCalls.delete(settled.call.callKey);
    known.generation = Math.max(known.generation, settled.generation ?? 0);
    desk.madeAnew.push(settled);
    desk.callSettled();
    this.untold = [...this.untold, ...place([settled], spec).map((result) => ({ result, ...told }))];
  }

  /**
   * Policy applies again: a gated call waits for a person, whoever asked for it. What ran with a person's arguments does so again.
   * Never rejects.
   */
  private async make(proposed: ProposedCall, base: number, { id, again }: Request): Promise<SettledCall> {
    const { turn, spec, desk } = this.options;
    const catalogs = this.options.catalogs();
    const changed = desk.changedCalls.get(proposed.callKey);
    const call = changed ?? proposed;
    const run = async (allowed: ProposedCall, above: number): Promise<SettledCall> => {
      const generation = base + above;
      return {
        ...(await runCall(allowed, { turn, spec, retry: id, ...(catalogs && { catalogs }) }, generation)),
        generation,
      };
    };
    const selector = gateOf(call, spec);
    const settings = spec.config.approvals;
    if (selector === null || !settings) return { ...(await run(call, 0)), call: proposed };
    // A digest of its own: neither the decision on the first call nor its denial is one on this.
    const asked = { ...call, argumentsDigest: digestOf(['retry', call.argumentsDigest, base, id]) };
    const isCancelled = (): boolean => CancellationScope.current().consideredCancelled;
    const settled = await settleGated(asked, selector, { desk, settings, isCancelled, run, again });
    const note = settled.note ?? (changed && 'facts' in settled.result ? noteOf(changed) : undefined);
    const generation = base + (settled.generation ?? 0);
    return { ...settled, call: proposed, generation, ...(note !== undefined && { note }) };
  }

  private stateOf({ call, result }: KnownCall): { readonly word: string; readonly words: string } | null {
    const { callKey, server, fault, unresolved } = call;
    if (this.options.desk.waiting().some((one) => one.callKey === callKey)) {
      return { word: 'waiting', words: 'waits for a person: decide on it' };
    }
    if (this.options.openCalls.has(callKey)) {
      const words = result ? 'is being made again already' : 'runs, and has no result yet';
      return { word: result ? 'retrying' : 'running', words };
    }
    if (fault) return { word: 'faulty', words: `was never made (${fault.type}), and cannot be` };
    if (unresolved) return { word: 'faulty', words: 'was never made, since its server was not asked what it offers' };
    if (server === PEOPLE_SERVER) return { word: 'question', words: 'is a question of the agent, not a call' };
    if (!result) return { word: 'settled', words: 'has a result that is not committed yet' };
    return null;
  }

  private named(): string {
    const keys = [...this.calls.keys()];
    return keys.length === 0
      ? 'none yet'
      : `${keys.slice(-20).join(', ')}${keys.length > 20 ? ` (the last 20 of ${keys.length})` : ''}`;
  }
}

/** A refusal with the call's state, as the error of the Update says it. */
export function refuse(type: ErrorType, message: string, state: string): ApplicationFailure {
  const mend = 'See the turn and its calls with `longshore turns show`.';
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [{ mend, state }] });
}
