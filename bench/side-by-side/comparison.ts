// The comparison itself: runs of growing length, large results, and many turns at once. Returns numbers; prints nothing.
import { randomUUID } from 'node:crypto';
import { loadavg } from 'node:os';
import { median } from '../lib/stats.ts';
import type { MeteredModel, Meter } from './metered-model.ts';
import type { RunReply, ToolPayload } from './system-process.ts';
import type { System, SystemName } from './systems.ts';

/** What a run showed. */
export interface RunRow extends Omit<RunReply, 'id' | 'cpuMs'> {
  readonly system: SystemName;
  readonly calls: number;
  /** Model requests that came, summaries not counted. */
  readonly requests: number;
  readonly summaries: number;
  /** A quarter of the characters that the model was sent over the whole run. */
  readonly tokensSent: number;
  /** Median times of a step in milliseconds, by tenths of what came of the run. */
  readonly tenths: readonly number[];
  readonly cpuMsPerStep: number;
  readonly lastResult: string;
  readonly lastResultCharacters: number;
  readonly load: number;
}

/** What many turns at once showed. */
export interface LoadRow {
  readonly system: SystemName;
  readonly stepsPerSecond: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly cpuMsPerStep: number;
  readonly load: number;
}

/** One run. */
export interface RunPlan {
  readonly calls: number;
  readonly payload: ToolPayload;
  readonly limitMs: number;
}

/** Makes one run and reads its meter. */
export async function measureRun(system: System, model: MeteredModel, plan: RunPlan): Promise<RunRow> {
  const id = `run-${randomUUID()}`;
  const meter = model.plan(id, plan.calls);
  const reply = await system.run({ id, model: id, payload: plan.payload, limitMs: plan.limitMs });
  const times = stepTimes(meter);
  const { recordBytes, events, elsewhereBytes, peakMemoryBytes } = reply;
  const { ended, how } = wholeEnd(reply, meter);
  return {
    system: system.name,
    calls: plan.calls,
    ended,
    how,
    recordBytes,
    events,
    elsewhereBytes,
    peakMemoryBytes,
    requests: meter.arrivals.length,
    summaries: meter.summaries,
    tokensSent: Math.ceil(meter.characters / 4),
    tenths: tenthsOf(times),
    cpuMsPerStep: (reply.cpuMs[1] - reply.cpuMs[0]) / Math.max(1, times.length),
    lastResult: meter.lastResult,
    lastResultCharacters: meter.lastResultCharacters,
    load: loadavg()[0] ?? 0,
  };
}

/** Many turns at once on one Worker. Raises where one of them does not complete: the numbers would mean nothing. */
export async function measureLoad(
  system: System,
  model: MeteredModel,
  plan: RunPlan & { readonly turns: number },
): Promise<LoadRow> {
  const runs = Array.from({ length: plan.turns }, () => {
    const id = `load-${randomUUID()}`;
    return { id, meter: model.plan(id, plan.calls) };
  });
  const began = performance.now();
  const { payload, limitMs } = plan;
  const replies = await Promise.all(runs.map(({ id }) => system.run({ id, model: id, payload, limitMs })));
  const seconds = (performance.now() - began) / 1000;
  const failed = replies.find((reply) => reply.ended !== 'completed');
  if (failed) throw new Error(`${system.name}, ${plan.turns} turns at once: one ${failed.ended}: ${failed.how}`);
  const times = runs.flatMap(({ meter }) => stepTimes(meter)).sort((a, b) => a - b);
  const cpuMs = Math.max(...replies.map((one) => one.cpuMs[1])) - Math.min(...replies.map((one) => one.cpuMs[0]));
  return {
    system: system.name,
    stepsPerSecond: times.length / seconds,
    medianMs: median(times),
    p95Ms: times[Math.floor(times.length * 0.95)] ?? Number.NaN,
    cpuMsPerStep: cpuMs / times.length,
    load: loadavg()[0] ?? 0,
  };
}

/** A system that says it is done before the model did has not made the run. */
function wholeEnd({ ended, how }: RunReply, { arrivals, calls }: Meter): Pick<RunReply, 'ended' | 'how'> {
  if (ended !== 'completed' || arrivals.length > calls) return { ended, how };
  return { ended: 'died', how: `completed after ${arrivals.length} model calls of ${calls + 1}` };
}

function stepTimes({ arrivals }: Meter): number[] {
  return arrivals.slice(1).map((time, index) => time - (arrivals[index] ?? time));
}

function tenthsOf(times: readonly number[]): number[] {
  if (times.length === 0) return [];
  return Array.from({ length: 10 }, (_, tenth) => {
    const start = Math.floor((tenth * times.length) / 10);
    return median(times.slice(start, Math.max(start + 1, Math.floor(((tenth + 1) * times.length) / 10))));
  });
}
