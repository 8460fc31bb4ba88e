// Where the time from a decision to the beginning of its call goes: by what history and the process itself have noted.
import type { temporal } from '@temporalio/proto';
import { median, table } from './stats.ts';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** When things happened in this process, by Workflow. Milliseconds since 1970, with fractions. */
export interface Marks {
  /** Before the decision is sent. */
  sent: number;
  /** The Activity that makes the call was entered. */
  entered: number;
  /** The call itself began. */
  begun: number;
}

/** The phases in order; their sum is the whole. */
const PHASES = {
  arrives: 'decision sent to Workflow Task started',
  decides: 'Workflow Task: replay, validator, commands',
  dispatched: 'commands sent to Activity entered',
  begins: 'Activity entered to call begun (journal)',
} as const;

/** Milliseconds of each phase. */
export type Phases = { readonly [phase in keyof typeof PHASES]: number };

/** The phases of one decision. */
export function phasesOf(events: readonly HistoryEvent[], { sent, entered, begun }: Marks): Phases {
  const accepted = events.findIndex((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  const before = events.slice(0, accepted);
  const started = timeOf(before.findLast((event) => event.workflowTaskStartedEventAttributes));
  const completed = timeOf(before.findLast((event) => event.workflowTaskCompletedEventAttributes));
  return {
    arrives: started - sent,
    decides: completed - started,
    dispatched: entered - completed,
    begins: begun - entered,
  };
}

/** Medians side by side, as a table. */
export function phaseTable(bare: readonly Phases[], longshore: readonly Phases[]): string {
  const rows = (Object.keys(PHASES) as (keyof Phases)[]).map((phase) => [
    PHASES[phase],
    ...[bare, longshore].map((all) => median(all.map((one) => one[phase])).toFixed(1)),
  ]);
  return table(['ms', 'bare', 'longshore'], rows);
}

function timeOf(event: HistoryEvent | undefined): number {
  const { seconds, nanos } = event?.eventTime ?? {};
  return Number(seconds ?? Number.NaN) * 1_000 + (nanos ?? 0) / 1e6;
}
