// Hard limits of a turn: tokens, cost, wall time, and what Temporal allows a history. Source: architecture D14.
import { patched, workflowInfo } from '@temporalio/workflow';
import type { Budgets } from '../shared/agent-spec.ts';
import type { CallModelResult } from '../shared/activities.ts';
import type { ErrorRecord } from '../shared/errors.ts';
import { STEP_HEADROOM } from './patches.ts';

/** What a turn has used so far. */
export interface Meter {
  steps: number;
  tokens: number;
  costUsd: number;
  readonly startedMs: number;
}

/** Temporal ends a run at 51,200 events or 50 MiB without a word to its code; a turn ends itself before that. */
const HISTORY_EVENTS_LIMIT = 50_000;
const HISTORY_BYTES_LIMIT = 48 * 1024 * 1024;

/** The same with room for a step of 1,000 calls: six events each at most, and 20 KB by what Activities may record. */
const STEP_EVENTS_LIMIT = 44_000;
const STEP_BYTES_LIMIT = 28 * 1024 * 1024;

/** What a step may need beside that while a server is not loaded: six more events a call, by which it is judged. */
const JUDGED_EVENTS = 6_000;
const JUDGED_BYTES = 12 * 1024 * 1024;

/** A meter at zero. `Date.now` is Temporal's in Workflow code: the time of the current Workflow Task. */
export function newMeter(): Meter {
  return { steps: 0, tokens: 0, costUsd: 0, startedMs: Date.now() };
}

/** Adds one model call. */
export function recordUsage(meter: Meter, answer: CallModelResult): void {
  meter.steps += 1;
  meter.tokens += answer.usage.inputTokens + answer.usage.outputTokens;
  meter.costUsd += answer.costUsd ?? 0;
}

/** How the turn must end before its next step, or null while it may go on. `mayJudge`: calls may have to be judged late. */
export function exhaustedBudget(
  meter: Meter,
  budgets: Budgets,
  mayJudge = false,
): { readonly status: 'budget'; readonly answer: null; readonly error: ErrorRecord } | null {
  const message = exceeded(meter, budgets, mayJudge);
  if (!message) return null;
  const mend = 'Raise it under config.budgets in the spec, or continue the turn.';
  return { status: 'budget', answer: null, error: { type: 'BudgetExhausted', message, mend } };
}

function exceeded(meter: Meter, budgets: Budgets, mayJudge: boolean): string | null {
  const elapsedMs = Date.now() - meter.startedMs;
  const { historyLength, historySize } = workflowInfo();
  if (budgets.tokens !== undefined && meter.tokens >= budgets.tokens) {
    return `The turn used ${meter.tokens} tokens of its budget of ${budgets.tokens}`;
  }
  if (budgets.cost_usd !== undefined && meter.costUsd >= budgets.cost_usd) {
    return `The turn cost ${meter.costUsd.toFixed(4)} US dollars of its budget of ${budgets.cost_usd}`;
  }
  if (budgets.wall_time_ms !== undefined && elapsedMs >= budgets.wall_time_ms) {
    return `The turn ran for ${elapsedMs} ms of its budget of ${budgets.wall_time_ms} ms`;
  }
  if (historyLength >= HISTORY_EVENTS_LIMIT) return `The turn's history reached ${historyLength} events`;
  if (historySize >= HISTORY_BYTES_LIMIT) return `The turn's history reached ${historySize} bytes`;
  const isNear =
    historyLength >= STEP_EVENTS_LIMIT - (mayJudge ? JUDGED_EVENTS : 0) ||
    historySize >= STEP_BYTES_LIMIT - (mayJudge ? JUDGED_BYTES : 0);
  if (!isNear || !patched(STEP_HEADROOM)) return null;
  return `The turn's history reached ${historyLength} events and ${historySize} bytes, too near Temporal's limits for one more step`;
}
