// The spans of turns whose Worker was killed: what the two processes have told together.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { readSpans, SPANS_VARIABLE, type SpanLine } from '../../bench/crash/spans.ts';
import { runTrial } from '../../bench/crash/trial.ts';
import { openCrashWorld, type CrashWorld } from '../../bench/crash/world.ts';
import { quietRuntime } from '../support/turn-world.ts';

const BOUNDARIES = ['model-completion-before', 'effect-after', 'placement-after'] as const;

let folder: string;
let file: string;
let world: CrashWorld;
beforeAll(async () => {
  quietRuntime();
  folder = await mkdtemp(join(tmpdir(), 'longshore-spans-'));
  file = join(folder, 'spans.jsonl');
  // The trials' processes are given the environment of this one.
  vi.stubEnv(SPANS_VARIABLE, file);
  world = await openCrashWorld({ address: inject('temporalAddress'), identity: `spans-${process.pid}` });
});
afterAll(async () => {
  await world.close();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

describe('the spans of a turn whose Worker was killed', () => {
  it('[CRASH-1] hold one span of the agent, from before the kill to the end in the other process', async () => {
    const trials = await Promise.all(BOUNDARIES.map((boundary) => runTrial(world, boundary, 0)));
    expect(trials.flatMap(({ faults }) => faults.filter((fault) => !fault.startsWith('it took')))).toEqual([]);
    for (const { boundary } of trials) {
      const spans = readSpans(file).filter(
        ({ attributes }) => attributes['longshore.turn.id'] === `crash-${boundary}-0`,
      );
      const agents = spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'invoke_agent');
      expect(agents.map(({ attributes }) => attributes['longshore.turn.status'])).toEqual(['completed']);
      expectToHoldAll(agents[0], spans);
      expect(agents[0]?.pid).toBe(world.rescuer.process.pid);
    }
    // The killed ones had told of what ended before: the model call at two of the boundaries.
    expect(new Set(readSpans(file).map(({ pid }) => pid)).size).toBeGreaterThan(2);
  }, 180_000);
});

function expectToHoldAll(agent: SpanLine | undefined, spans: readonly SpanLine[]): void {
  const calls = spans.filter((span) => span !== agent);
  expect(calls.filter(({ name }) => name.startsWith('chat ')).length).toBeGreaterThanOrEqual(2);
  expect(calls.filter(({ name }) => name.startsWith('execute_tool ')).length).toBeGreaterThanOrEqual(5);
  for (const { startMs, endMs } of calls) {
    expect(startMs).toBeGreaterThanOrEqual((agent?.startMs ?? Number.POSITIVE_INFINITY) - 1);
    expect(endMs).toBeLessThanOrEqual(agent?.endMs ?? 0);
  }
}
