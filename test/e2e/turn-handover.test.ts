// A Worker that stops in the middle of a step, and another that takes over: nothing is lost, nothing happens twice.
import { describe, expect, it, vi } from 'vitest';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const call = (tool: string) => ({ name: `desk__${tool}`, arguments: {} });

/** A world whose two Workers have tools of their own, so that each call knows where it runs. */
async function twoWorkers(): Promise<{ world: World; gates: Gates; made: string[]; addSecond: () => Promise<void> }> {
  const gates = new Gates();
  const made: string[] = [];
  const deskFor = (worker: string) =>
    deskOf(
      reader('quick', () => {
        made.push(`${worker} quick`);
        return `quick on ${worker}`;
      }),
      reader('slow_read', async (_args, { signal }) => {
        made.push(`${worker} slow_read`);
        await gates.pass(`${worker} read`, signal);
        return `read on ${worker}`;
      }),
      writer('slow_write', async (_args, { signal }) => {
        made.push(`${worker} slow_write`);
        await gates.pass(`${worker} write`, signal);
        return `written on ${worker}`;
      }),
    );
  const world = await createWorld({
    plugin: { localServers: [deskFor('first')] },
    worker: { shutdownGraceTime: '100ms', shutdownForceTime: '5s' },
  });
  return {
    world,
    gates,
    made,
    addSecond: async () => {
      await world.addWorker({ plugin: { localServers: [deskFor('second')] } });
    },
  };
}

describe.concurrent('a Worker that is shut down while tools run', () => {
  it('[HAND-1] leaves a read to another, which does it again; what was done is not done again', async () => {
    const { world, gates, made, addSecond } = await twoWorkers();
    try {
      const script = inOrder({ toolCalls: [call('quick'), call('slow_read')] }, { text: 'done' });
      const started = await world.start(openDesk, { text: 'Go.', script });
      await gates.reached('first read');
      await vi.waitFor(async () => expect((await started.state()).openCalls).toEqual(['t1/0/1']), 10_000);
      await world.worker.stop();
      await addSecond();
      gates.open('second read');
      const { result, requests, view } = await started.ended();
      expect(result).toMatchObject({ status: 'completed', answer: 'done' });
      expect(toolTexts(requests[1])).toEqual(['quick on first', 'read on second']);
      expect(made).toEqual(['first quick', 'first slow_read', 'second slow_read']);
      expect(view.steps[0]?.toolCalls[1]?.attempts).toBeGreaterThan(1);
    } finally {
      await world.close();
    }
  });

  it('[HAND-2] never has a write sent twice: its outcome is unknown, in words, and the turn goes on', async () => {
    const { world, gates, made, addSecond } = await twoWorkers();
    try {
      const script = inOrder({ toolCalls: [call('slow_write'), call('quick')] }, { text: 'done' });
      const started = await world.start(openDesk, { text: 'Go.', script });
      await gates.reached('first write');
      await vi.waitFor(async () => expect((await started.state()).openCalls).toEqual(['t1/0/0']), 10_000);
      await world.worker.stop();
      await addSecond();
      const { result, requests, view } = await started.ended();
      expect(result).toMatchObject({ status: 'completed', answer: 'done' });
      expect(view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['unknown', 'ok']);
      const [write] = toolTexts(requests[1]);
      expect(write).toMatch(/unknown/);
      expect(write).toMatch(/may have taken effect/);
      expect(made.filter((one) => one.endsWith('slow_write'))).toEqual(['first slow_write']);
    } finally {
      await world.close();
    }
  });

  it('[HAND-3] between two steps loses nothing: another Worker reads the transcript and goes on', async () => {
    const { world, gates, addSecond } = await twoWorkers();
    try {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      const started = await world.start(openDesk, {
        text: 'Go.',
        script: async (_request, n) => {
          if (n === 0) return { toolCalls: [call('quick')] };
          asked.resolve();
          if (n === 1) await answer.promise;
          return { text: 'done' };
        },
      });
      await asked.promise;
      await world.worker.stop();
      await addSecond();
      answer.resolve();
      gates.open('second read');
      const { result, requests } = await started.ended();
      expect(result).toMatchObject({ status: 'completed', answer: 'done', steps: 2 });
      expect(toolTexts(requests.at(-1))).toEqual(['quick on first']);
    } finally {
      await world.close();
    }
  });
});
