// A turn that is reset to before a step, and a Workflow that its own policy retries: nothing is doubled, no path leads to nothing.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { getApproval } from '../../client/approvals.ts';
import { resetTurn } from '../../client/reset.ts';
import { listTurns, turnInput } from '../../client/turns.ts';
import { loadManifest } from '../../activities/store/manifest.ts';
import { approvalId } from '../../shared/approvals.ts';
import type { Manifest } from '../../shared/manifest.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import { at, decide, waitingCall, waitingCalls } from '../support/approvals.ts';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import type { ScriptedModel } from '../../testing/scripted-model.ts';
import { createWorld, specOf, type StartedTurn, type World } from '../support/turn-world.ts';

const gates = new Gates();
const made = new Map<string, number>();
const count = (name: unknown): number => {
  const times = (made.get(String(name)) ?? 0) + 1;
  made.set(String(name), times);
  return times;
};
const desk = deskOf(
  reader('figures', ({ name }) => `${String(name)} version ${count(name)}: the harbour counts.\n`.repeat(900)),
  writer('change', ({ name, to }) => `changed ${String(name)} to ${String(to)}, time ${count(name)}`),
  reader('gated', async ({ gate }, { signal }) => {
    await gates.pass(String(gate), signal);
    return 'passed';
  }),
);
const gatedDesk = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

/** Of the turn that its policy retries: its first run ends at the gate. */
const policyScript: ScriptedModel = () => {
  const n = count('policy request') - 1;
  const both = { toolCalls: [call('figures', { name: 'policy' }), call('change', { name: 'policy write', to: 'x' })] };
  if (n === 0 || n === 2) return both;
  return n === 1 ? { toolCalls: [call('gated', { gate: 'never' })] } : { text: 'from the second run' };
};

let world: World;
beforeAll(async () => {
  world = await createWorld({ script: policyScript, plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

const manifestOf = (workflowId: string): Promise<Manifest | null> =>
  loadManifest(world.store, { session: workflowId, workflowId });
/** The result of the run that goes on. */
const resultOf = (turn: Pick<StartedTurn, 'workflowId'>): Promise<AgentTurnResult> =>
  world.client.workflow.getHandle<() => Promise<AgentTurnResult>>(turn.workflowId).result();
const read = (path: string) => ({ name: 'sandbox__read_file', arguments: { path, length_bytes: 60 } });

describe.concurrent('a turn that is reset', () => {
  it('[FILE-11] to before a read makes it anew: the newer file supersedes the older path, and earlier files stay', async () => {
    const paths: string[] = [];
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: ({ messages }, n) => {
        const found =
          JSON.stringify(messages).match(/\/sandbox\/tool-results\/t1\.\d\.0-figures-[0-9a-f]{16}\.txt/g) ?? [];
        paths.push(...found);
        if (n === 0) return { toolCalls: [call('figures', { name: 'kept' })] };
        // Asked twice at step 1: before the reset and after it.
        if (n === 1 || n === 3) return { toolCalls: [call('figures', { name: 'anew' })] };
        if (n === 2) return { text: 'first end' };
        return n === 4
          ? { toolCalls: [read(paths.find((path) => path.includes('t1.1.0')) ?? 'none'), read(paths[0] ?? 'none')] }
          : { text: 'second end' };
      },
    });
    const first = await turn.ended();
    expect(first.result.answer).toBe('first end');
    const reset = await resetTurn(world.client, turn.workflowId, { step: 1, reason: 'for a test' });
    expect(reset.runId).not.toBe(first.view.runId);
    expect(await resultOf(turn)).toMatchObject({ status: 'completed', answer: 'second end', steps: 4 });
    expect([made.get('kept'), made.get('anew')]).toEqual([1, 2]);
    const listed = async () =>
      (await Array.fromAsync(listTurns(world.client))).filter(({ workflowId }) => workflowId === turn.workflowId);
    await vi.waitFor(
      async () => expect(await listed()).toMatchObject([{ runId: reset.runId, status: 'completed' }]),
      10_000,
    );
    const { requests } = await turn.ended();
    const [old, kept] = toolTexts(requests[5]).slice(-2);
    expect(old).toMatch(/was superseded: .*\n.*\nanew version 2/s);
    expect(kept).toContain('kept version 1');
    const files = (await manifestOf(turn.workflowId))?.files ?? [];
    expect(files.map(({ callKey, state }) => `${callKey} ${state}`)).toEqual([
      't1/0/0 pinned',
      't1/1/0 superseded',
      't1/1/0 pinned',
    ]);
  });

  it('[FILE-11] to before a write gives its recorded answer, once done; another write at the same key is done', async () => {
    const ask = (to: string) => ({ toolCalls: [call('change', { name: 'ledger', to })] });
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: inOrder(ask('a'), { text: 'one' }, ask('a'), { text: 'two' }, ask('b'), { text: 'three' }, ask('b'), {
        text: 'four',
      }),
    });
    await turn.result();
    const texts: (string | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      await resetTurn(world.client, turn.workflowId, { step: 0 });
      await resultOf(turn);
      texts.push(toolTexts((await turn.ended()).requests.at(-1)).at(-1));
    }
    expect(texts).toEqual([
      'changed ledger to a, time 1',
      'changed ledger to b, time 2',
      'changed ledger to b, time 2',
    ]);
    expect(made.get('ledger')).toBe(2);
  });

  it('[FILE-12] leaves accepted decisions out: the person is asked again, and the approved write is not doubled', async () => {
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: inOrder(
        { toolCalls: [call('change', { name: 'approved', to: 'x' })] },
        { toolCalls: [call('gated', { gate: 'open' })] },
        { toolCalls: [call('change', { name: 'approved', to: 'x' })] },
        { text: 'done' },
      ),
    });
    const first = await waitingCall(turn);
    await decide(at(world, turn), first, 'approve');
    await gates.reached('open');
    await resetTurn(world.client, turn.workflowId, { step: 0 });
    const again = await waitingCall(turn);
    expect(again).toMatchObject({ callKey: 't1/0/0', digest: first.digest, kind: 'approval' });
    expect(made.get('approved')).toBe(1);
    await decide(at(world, turn), again, 'approve');
    expect(await resultOf(turn)).toMatchObject({ status: 'completed' });
    expect(made.get('approved')).toBe(1);
    gates.open('open');
  });

  it('[FILE-12] to before a write that was made says so to the person who is asked again, and to the model when they deny it', async () => {
    const texts: string[] = [];
    const answers = inOrder(
      { toolCalls: [call('change', { name: 'regretted', to: 'x' })] },
      { toolCalls: [call('gated', { gate: 'regretted' })] },
      { toolCalls: [call('change', { name: 'regretted', to: 'x' }), call('change', { name: 'new', to: 'x' })] },
      { text: 'done' },
    );
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: (request, n) => {
        if (n === 3) texts.push(...toolTexts(request));
        return answers(request, n);
      },
    });
    const first = await waitingCall(turn);
    expect(first.sentBefore).toBeUndefined();
    await decide(at(world, turn), first, 'approve');
    await gates.reached('regretted');
    await resetTurn(world.client, turn.workflowId, { step: 0 });
    const [again, other] = await waitingCalls(turn, 2);
    if (!again || !other) throw new Error('two calls wait');
    expect([again.sentBefore, other.sentBefore]).toEqual([true, undefined]);
    const shown = await getApproval(world.client, approvalId(turn.workflowId, again.callKey));
    expect(shown).toMatchObject({ state: 'waiting', sentBefore: true });
    await decide(at(world, turn), again, 'deny');
    await decide(at(world, turn), other, 'deny');
    await resultOf(turn);
    const [told, toldOther] = texts;
    expect(told).toContain('it had been sent before, in a part of this turn that was reset since');
    expect(toldOther).toContain('It was not made, and nothing was changed.');
    expect(made.get('regretted')).toBe(1);
    gates.open('regretted');
  });

  it('[FILE-12] after it was cancelled goes on, its cancellation left out', async () => {
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: inOrder({ toolCalls: [call('gated', { gate: 'cancelled' })] }, { text: 'went on' }),
    });
    await gates.reached('cancelled');
    await turn.cancel();
    expect((await turn.result()).status).toBe('cancelled');
    gates.open('cancelled');
    // The model is not asked for step 1 before the reset: there is no such step.
    await expect(resetTurn(world.client, turn.workflowId, { step: 1 })).rejects.toMatchObject({
      type: 'StepNotFound',
      message: expect.stringContaining('step 0 alone'),
    });
    await resetTurn(world.client, turn.workflowId, { step: 0 });
    expect((await resultOf(turn)).status).toBe('completed');
  });

  it('[FILE-13] finds what was lost meanwhile, says so to the model once, and goes on', async () => {
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: inOrder({ toolCalls: [call('figures', { name: 'lost' })] }, { text: 'one' }, { text: 'two' }),
    });
    await turn.result();
    const file = (await manifestOf(turn.workflowId))?.files[0];
    await world.store.deleteBlob(file?.sha256 ?? '');
    await resetTurn(world.client, turn.workflowId, { step: 1 });
    expect(await resultOf(turn)).toMatchObject({ status: 'completed', answer: 'two' });
    const { requests } = await turn.ended();
    const told = requests[2]?.messages.map(contentText).filter((text) => text.includes('Files check')) ?? [];
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(
      `${file?.path}: gone from the file store; expected ${file?.bytes} bytes with SHA-256 ${file?.sha256}`,
    );
    expect(told[0]).toMatch(/Made by call t1\/0\/0 \(desk\/figures\): repeat that call/);
  });
});

describe('a Workflow that its own policy retries', () => {
  it('[FILE-14] makes reads anew under the same id, gives writes their recorded answer, and supersedes older paths', async () => {
    const workflowId = `turn-${randomUUID()}`;
    const message = { type: 'user.message', content: 'Go.' } as const;
    const input = await turnInput(world.client, { workflowId, spec: specOf(openDesk), message });
    const handle = await world.client.workflow.start('longshoreAgentTurn', {
      workflowId,
      taskQueue: world.taskQueue,
      args: [input],
      // The first run stands at a gate until it has had its time.
      workflowRunTimeout: '8 seconds',
      retry: { maximumAttempts: 3, initialInterval: '1 second' },
    });
    expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'from the second run' });
    expect([made.get('policy'), made.get('policy write')]).toEqual([2, 1]);
    const files = (await manifestOf(workflowId))?.files ?? [];
    expect(files.map(({ callKey, state }) => `${callKey} ${state}`)).toEqual(['t1/0/0 superseded', 't1/0/0 pinned']);
    expect(await world.store.statBlob(files[1]?.sha256 ?? '')).not.toBeNull();
  });
});
