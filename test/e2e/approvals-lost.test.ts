// Waits and approved calls that outlive their Worker, turns in line, and how people find what waits.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { turnInput } from '../../client/turns.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import type { CallToolInput, CommitStepInput } from '../../shared/activities.ts';
import { at, decide, eventually, refusalOf, waitingCall, waitingCalls } from '../support/approvals.ts';
import { deskOf, Gates, writer } from '../support/local-tools.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, specOf, type World } from '../support/turn-world.ts';

const gated = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (n: string) => ({ name: 'desk__change', arguments: { n } });

/** A world whose Workers have a desk of their own each: what the first one began, it never ends. */
async function twoWorkers(): Promise<{ world: World; gates: Gates; ran: string[]; second: () => Promise<void> }> {
  const gates = new Gates();
  const ran: string[] = [];
  const deskFor = (worker: string) =>
    deskOf(
      writer('change', async ({ n }, { signal }) => {
        ran.push(`${worker} ${String(n)}`);
        await gates.pass(`${worker} ${String(n)}`, signal);
        return `${worker} changed ${String(n)}`;
      }),
    );
  const world = await createWorld({
    plugin: { localServers: [deskFor('first')] },
    worker: { shutdownGraceTime: '100ms', shutdownForceTime: '5s' },
  });
  const second = async (): Promise<void> => {
    await world.addWorker({ plugin: { localServers: [deskFor('second')] } });
  };
  return { world, gates, ran, second };
}

describe.concurrent('a Worker that goes', () => {
  it('[ASK-20] while calls wait loses nothing: another takes the decision and goes on', async () => {
    const { world, gates, ran, second } = await twoWorkers();
    try {
      const script = inOrder({ toolCalls: [call('a'), call('b')] }, { text: 'done' });
      const turn = await world.start(gated, { text: 'Go on.', script });
      const [a, b] = await waitingCalls(turn, 2);
      await world.worker.stop();
      await second();
      gates.open('second a');
      expect((await turn.state()).waiting).toEqual([a, b]);
      await decide(at(world, turn), a ?? never(), 'approve');
      await decide(at(world, turn), b ?? never(), 'deny');
      const { result, requests } = await turn.ended();
      expect(result.status).toBe('completed');
      expect(toolTexts(requests[1])[0]).toBe('second changed a');
      expect(ran).toEqual(['second a']);
    } finally {
      await world.close();
    }
  });

  it.each(['run-again', 'done', 'give-up'] as const)(
    '[ASK-3] ask-3: in an approved call leaves its outcome to the person, never sent again unasked: %s',
    async (choice) => {
      const { world, gates, ran, second } = await twoWorkers();
      try {
        const script = inOrder({ toolCalls: [call('a')] }, { text: 'done' });
        const turn = await world.start(gated, { text: 'Go on.', script });
        const asked = await waitingCall(turn);
        await decide(at(world, turn), asked, 'approve');
        await gates.reached('first a');
        await world.worker.stop();
        await second();
        const shown = await waitingCall(turn);
        expect(shown).toMatchObject({ kind: 'outcome', callKey: 't1/0/0', known: expect.stringContaining('unknown') });
        expect(ran).toEqual(['first a']);
        expect(await decide(at(world, turn), asked, 'approve')).toMatchObject({ repeated: true });
        expect(await refusalOf(decide(at(world, turn), shown, 'approve'))).toMatchObject({
          type: 'ApprovalInvalid',
        });
        gates.open('second a');
        await decide(at(world, turn), shown, { type: 'outcome', choice }, { reason: 'I looked' });
        const { requests, view, history } = await turn.ended();
        const outcome = view.steps[0]?.toolCalls[0]?.outcome;
        const [text] = toolTexts(requests[1]);
        const made = activitiesOf<CallToolInput>(history, 'longshoreCallTool').map((one) => one.input.generation);
        const expected = {
          'run-again': [['first a', 'second a'], [0, 1], 'ok', /second changed a/],
          done: [['first a'], [0], 'ok', /confirms that this call .* took effect.*I looked/s],
          'give-up': [['first a'], [0], 'unknown', /gave it up.*I looked/s],
        } as const;
        const [runs, generations, end, words] = expected[choice];
        expect([ran, made, outcome]).toEqual([runs, generations, end]);
        expect(text).toMatch(words);
      } finally {
        await world.close();
      }
    },
  );
});

describe('turns in line', () => {
  const ran: string[] = [];
  const desk = deskOf(
    writer('change', ({ n }) => {
      ran.push(String(n));
      return `changed ${String(n)}`;
    }),
  );
  let world: World;
  beforeAll(async () => {
    const workflowsPath = fileURLToPath(new URL('../support/own-workflows.ts', import.meta.url));
    world = await createWorld({
      script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: [call('same')] }),
      plugin: { localServers: [desk] },
      worker: { workflowsPath, activities: { greet: (name: string) => Promise.resolve(name) } },
    });
  });
  afterAll(() => world.close());

  it('[ASK-21] of one Workflow wait side by side: each decision goes to its own turn', async () => {
    const { client, taskQueue } = world;
    const execution = `own-${taskQueue}`;
    const message = { type: 'user.message' as const, content: 'Twice.' };
    const input = await turnInput(client, { workflowId: execution, spec: specOf(gated), message });
    const handle = await client.workflow.start('twoInline', { workflowId: execution, taskQueue, args: [input] });
    const pauses = async () => {
      const history = await handle.fetchHistory();
      return activitiesOf<CommitStepInput>(history, 'longshoreCommitStep').flatMap(({ input: one }) =>
        one.pause ? [{ turn: one.turn.workflowId, waiting: one.pause.waiting[0] ?? never() }] : [],
      );
    };
    const found = await eventually(pauses, (seen) => seen.length === 2);
    const [first, second] = found.sort((a, b) => (a.turn < b.turn ? -1 : 1));
    expect([first?.turn, second?.turn]).toEqual([`${execution}~1`, `${execution}~2`]);
    const { waiting } = first ?? never();
    // The Workflow's own id is not enough where both wait for the same.
    const unclear = decide(at(world, { workflowId: execution }), waiting, 'approve');
    expect(await refusalOf(unclear)).toMatchObject({
      type: 'ApprovalNotFound',
      message: expect.stringContaining(`${execution}~2`),
    });
    await decide({ client, workflowId: `${execution}~2` }, waiting, 'approve', { execution });
    await decide({ client, workflowId: `${execution}~1` }, waiting, 'deny', { execution });
    const results = (await handle.result()) as readonly AgentTurnResult[];
    expect(results.map((result) => result.status)).toEqual(['completed', 'completed']);
    expect(ran).toEqual(['same']);
  });
});

function never(): never {
  throw new Error('nothing is there');
}
