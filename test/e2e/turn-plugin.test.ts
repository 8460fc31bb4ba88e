// The plugin as a guest: a user's own codec, Activities, Workflows and bundle; turns in line and as children.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTurn, startTurn, turnInput, watchTurn } from '../../client/turns.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import { replayTurn } from '../../testing/replay.ts';
import { LongshorePlugin } from '../../worker/plugin.ts';
import { encryptingCodec } from '../support/encrypting-codec.ts';
import { deskOf, openDesk, reader } from '../support/local-tools.ts';
import { historyText, toolTexts } from '../support/turn-history.ts';
import { createWorld, specOf, workflowBundle, type World } from '../support/turn-world.ts';

const SENTENCE = 'Nobody but the crew may read this line. ';
const desk = deskOf(
  reader('echo', ({ text }) => String(text)),
  reader('big', () => SENTENCE.repeat(2_000)),
  reader(
    'hang',
    (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  ),
);
const ownWorkflows = fileURLToPath(new URL('../support/own-workflows.ts', import.meta.url));
const greet = (name: string): Promise<string> => Promise.resolve(`hello ${name}`);

let world: World;
let workflowsBundle: { readonly code: string };
beforeAll(async () => {
  workflowsBundle = await bundleWorkflowCode({
    workflowsPath: ownWorkflows,
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
  });
  world = await createWorld({
    script: ({ messages }) => {
      const results = messages.filter((message) => message.role === 'tool');
      if (results.length > 0) return { text: `read ${results.length}` };
      const hangs = JSON.stringify(messages).includes('Hang');
      return { toolCalls: [{ name: hangs ? 'desk__hang' : 'desk__big', arguments: {} }] };
    },
    plugin: { localServers: [desk] },
    worker: { workflowBundle: workflowsBundle, activities: { greet } },
  });
});
afterAll(() => world.close());

const input = (text: string) =>
  turnInput(world.client, {
    workflowId: 'unused',
    spec: specOf(openDesk),
    message: { type: 'user.message', content: text },
  });

describe("a user's own Worker", () => {
  it('[PLUGIN-1] runs its own Workflows and Activities beside turns', async () => {
    const [greeting, turn] = await Promise.all([
      world.client.workflow.execute('greeting', {
        workflowId: `${world.taskQueue}-g`,
        taskQueue: world.taskQueue,
        args: ['Ada'],
      }),
      world.run(openDesk),
    ]);
    expect(greeting).toBe('hello Ada');
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'read 1' });
  });

  it('[PLUGIN-2] calls a turn as a child and in line; both are whole turns', async () => {
    const workflowId = `${world.taskQueue}-both`;
    const both = await world.client.workflow.execute<
      (given: unknown) => Promise<{ child: AgentTurnResult; inline: AgentTurnResult }>
    >('childAndInline', { workflowId, taskQueue: world.taskQueue, args: [await input('Read.')] });
    expect(both.child).toMatchObject({ status: 'completed', answer: 'read 1' });
    expect(both.inline).toMatchObject({ status: 'completed', answer: 'read 1' });
    const child = await readTurn(world.client, `${workflowId}-agent`, world.store);
    expect(child.steps[0]?.toolCalls[0]).toMatchObject({ placement: 'file', callKey: 't1/0/0' });
    const history = await world.client.workflow.getHandle(workflowId).fetchHistory();
    // The child's id is made of the Workflow's own, which the history names.
    await replayTurn(history, { workflows: { workflowBundle: workflowsBundle } });
  });

  it('[PLUGIN-3] runs two turns in line at once in one Workflow: they do not collide', async () => {
    const workflowId = `${world.taskQueue}-two`;
    const results = await world.client.workflow.execute<(given: unknown) => Promise<readonly AgentTurnResult[]>>(
      'twoInline',
      {
        workflowId,
        taskQueue: world.taskQueue,
        args: [await input('Read.')],
      },
    );
    expect(results.map((one) => one.answer)).toEqual(['read 1', 'read 1']);
    expect(new Set(results.map((one) => one.session)).size).toBe(2);
    const manifests: string[] = [];
    for await (const key of world.store.listObjects('manifests')) manifests.push(key);
    expect(manifests.filter((key) => key.includes('-two'))).toHaveLength(2);
    const history = await world.client.workflow.getHandle(workflowId).fetchHistory();
    await replayTurn(history, { workflowId, workflows: { workflowBundle: workflowsBundle } });
  });

  it('[PLUGIN-3] ends a turn in line as cancelled when its scope is cancelled, without a throw', async () => {
    const result = await world.client.workflow.execute<(given: unknown) => Promise<AgentTurnResult>>(
      'inlineCancelled',
      {
        workflowId: `${world.taskQueue}-scope`,
        taskQueue: world.taskQueue,
        args: [await input('Hang.')],
      },
    );
    expect(result).toMatchObject({ status: 'cancelled' });
  });

  it('[PLUGIN-4] refuses an Activity that takes one of its names, and a second plugin, loudly', async () => {
    const connection = await NativeConnection.connect({ address: world.address });
    const plugin = () => new LongshorePlugin({ store: world.store, env: world.env, log: () => {} });
    const create = (more: object) =>
      Worker.create({
        connection,
        taskQueue: `${world.taskQueue}-c`,
        workflowBundle: workflowsBundle,
        plugins: [plugin()],
        ...more,
      });
    await expect(create({ activities: { longshoreCallTool: greet } })).rejects.toMatchObject({
      type: 'PluginCollision',
    });
    await expect(create({ plugins: [plugin(), plugin()] })).rejects.toMatchObject({ type: 'PluginCollision' });
    await connection.close();
  });

  it('[PLUGIN-4] refuses two servers of one name', () => {
    const make = () =>
      new LongshorePlugin({ store: world.store, env: world.env, localServers: [desk, desk], log: () => {} });
    expect(make).toThrow(expect.objectContaining({ type: 'ToolServerClash' }));
  });

  it('[PLUGIN-5] works with a prebuilt bundle from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'longshore-bundle-'));
    const codePath = join(folder, 'bundle.js');
    await writeFile(codePath, (await workflowBundle()).code);
    const other = await createWorld({
      script: () => ({ text: 'from a prebuilt bundle' }),
      worker: { workflowBundle: { codePath } },
    });
    try {
      expect((await other.run({})).result).toMatchObject({ status: 'completed', answer: 'from a prebuilt bundle' });
    } finally {
      await other.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('[PLUGIN-6] keeps its own payload codec: history is unreadable without it, the client reads it with it', async () => {
    const dataConverter = { payloadCodecs: [encryptingCodec] };
    const coded = await createWorld({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? { text: 'read' } : { toolCalls: [{ name: 'desk__big', arguments: {} }] },
      plugin: { localServers: [desk] },
      worker: { dataConverter },
    });
    const connection = await Connection.connect({ address: coded.address });
    const client = new Client({ connection, dataConverter });
    try {
      const workflowId = `${coded.taskQueue}-coded`;
      const message = { type: 'user.message' as const, content: 'A secret question.' };
      const handle = await startTurn(client, {
        workflowId,
        spec: specOf(openDesk),
        message,
        taskQueue: coded.taskQueue,
      });
      const record = await watchTurn(client, workflowId);
      expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'read' });
      expect(record.result?.answer).toBe('read');
      const view = await readTurn(client, workflowId, coded.store);
      expect(view).toMatchObject({
        status: 'completed',
        steps: [{ toolCalls: [{ tool: 'big', placement: 'file' }] }, {}],
      });
      const text = historyText(await handle.fetchHistory());
      expect(text).not.toContain('A secret question.');
      expect(text).not.toContain('/sandbox/tool-results');
      await expectReplayWithCodec(historyToJSON(await handle.fetchHistory()), workflowId);
      const next = await startTurn(client, {
        workflowId: `${workflowId}-2`,
        spec: specOf(openDesk),
        message,
        taskQueue: coded.taskQueue,
        continueFrom: workflowId,
      });
      expect(await next.result()).toMatchObject({ status: 'completed', turn: 2 });
    } finally {
      await connection.close();
      await coded.close();
    }
  });
});

/** Replays with the codec alone, and sees a tampered decision through it. */
async function expectReplayWithCodec(json: string, workflowId: string): Promise<void> {
  const dataConverter = { payloadCodecs: [encryptingCodec] };
  const workflows = { workflowBundle: await workflowBundle() };
  await replayTurn(json, { workflows, dataConverter });
  await expect(replayTurn(json, { workflows })).rejects.toMatchObject({
    type: 'UsageInvalid',
    mend: expect.stringContaining('`dataConverter`'),
  });
  const history = historyFromJSON(JSON.parse(json));
  expect(history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId).toBe(workflowId);
  // The model's second call is given the placement of the first one's result.
  const inputs = (history.events ?? []).flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    return scheduled?.activityType?.name === 'longshoreCallModel' ? [scheduled.input] : [];
  });
  const [payload] = await encryptingCodec.decode(inputs[1]?.payloads ?? []);
  const text = Buffer.from(payload?.data ?? []).toString('utf8');
  const changed = text.replace('"rule":"per-result"', '"rule":"exempt"');
  expect(changed).not.toBe(text);
  const tampered = { metadata: payload?.metadata ?? {}, data: Buffer.from(changed) };
  if (inputs[1]) inputs[1].payloads = await encryptingCodec.encode([tampered]);
  await expect(replayTurn(history, { workflows, dataConverter })).rejects.toMatchObject({ type: 'DecisionMismatch' });
}

describe('two Workers', () => {
  it('[PLUGIN-7] on one store and one Task Queue share turns: each can do any part of one', async () => {
    const identities = new Set<string>();
    const other = await createWorld({
      script: ({ messages }) => {
        const done = messages.filter((message) => message.role === 'tool').length;
        if (done >= 24) return { text: `read ${done}` };
        return { toolCalls: Array.from({ length: 8 }, () => ({ name: 'desk__big', arguments: {} })) };
      },
      plugin: { localServers: [desk] },
      worker: { maxConcurrentActivityTaskExecutions: 3, identity: 'first' },
    });
    try {
      await other.addWorker({ worker: { identity: 'second' } });
      const turns = await Promise.all([1, 2, 3].map(() => other.run(openDesk)));
      for (const { result, history, requests } of turns) {
        expect(result).toMatchObject({ status: 'completed', answer: 'read 24' });
        expect(requests.length).toBeGreaterThan(0);
        const started = (history.events ?? []).map((event) => event.activityTaskStartedEventAttributes?.identity);
        for (const identity of started.filter(Boolean)) identities.add(String(identity));
      }
      expect(identities).toEqual(new Set(['first', 'second']));
      // The three share a script, and with it the list of requests.
      const known = turns[0]?.requests.map((request) => toolTexts(request).length) ?? [];
      expect(Math.max(...known)).toBe(24);
    } finally {
      await other.close();
    }
  });
});

// Kept to prove that the codec's test could fail: without the codec the same text is readable.
describe('without a codec', () => {
  it('[PLUGIN-6] the same history is readable', async () => {
    const { history } = await world.run(openDesk, { text: 'An open question.' });
    expect(historyText(history)).toContain('An open question.');
  });
});
