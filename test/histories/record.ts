// Records the histories of this folder anew: `node test/histories/record.ts [NAME…]`. Needs no model and no network; brings
// up a dev server of its own. A history that is kept proves that the code of today still replays what it once did: record a
// new name for a new path, and an old one only when it may be forgotten.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyFromJSON, historyToJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import { manifestKey } from '../../activities/store/manifest.ts';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import { turnInput } from '../../client/turns.ts';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { startModelServer } from '../support/model-server.ts';
import { historyText, inOrder } from '../support/turn-history.ts';
import { createWorld, specOf, type World } from '../support/turn-world.ts';
import { APPROVAL_RECORDINGS } from './approvals.ts';
import { CRASH_RECORDINGS, recordCrashes } from './crashes.ts';
import { DEFERRED_RECORDINGS, shopEntries } from './deferred.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const gates = new Gates();
const desk = deskOf(
  reader('report', () => 'The pilot boards at the outer buoy. '.repeat(1_500)),
  reader('page', ({ n }) => `page ${String(n)}: ${'The tide turns twice a day. '.repeat(60)}`),
  reader('echo', ({ text }) => String(text)),
  reader('picture', () => ({
    content: [
      { type: 'text', text: 'A pixel.' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
    ],
  })),
  reader('held', async (_args, { signal }) => {
    await gates.pass('held', signal);
    return 'let go';
  }),
  writer('change', () => 'changed'),
);
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

type Recording = (world: World) => Promise<History>;

const recordings: Readonly<Record<string, Recording>> = {
  ...APPROVAL_RECORDINGS,
  ...DEFERRED_RECORDINGS,
  async main(world) {
    const turn = await world.run(
      {
        ...openDesk,
        instructions: 'Be brief.',
        config: { context_management: { large_tool_response: { per_step_tokens: 900 } } },
      },
      {
        workflowId: 'turn-main',
        script: ({ messages }, n) => {
          const path = /\/sandbox\/tool-results\/\S+\.txt/.exec(JSON.stringify(messages))?.[0];
          if (n === 0)
            return {
              toolCalls: [call('report'), call('page', { n: 1 }), call('page', { n: 2 }), call('page', { n: 3 })],
            };
          if (n === 1) return { toolCalls: [{ name: 'sandbox__read_file', arguments: { path, length_bytes: 80 } }] };
          return { text: 'The pilot boards at the outer buoy.' };
        },
      },
    );
    return turn.history;
  },
  async cancelled(world) {
    const toolCalls = [call('held'), call('echo', { text: 'kept' })];
    const started = await world.start(openDesk, {
      workflowId: 'turn-cancelled',
      text: 'Both.',
      script: inOrder({ toolCalls }),
    });
    await gates.reached('held');
    while ((await started.state()).openCalls.length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
    await started.cancel();
    return (await started.ended()).history;
  },
  // `denied-and-faults` is from before approvals: its gated call was denied at once. Today it would wait.
  async images(world) {
    const message = {
      type: 'user.message' as const,
      content: [
        { type: 'text' as const, text: 'Compare.' },
        { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ],
    };
    const script = inOrder({ toolCalls: [call('picture')] }, { text: 'The same.' });
    return (await world.run(openDesk, { workflowId: 'turn-images', message, script })).history;
  },
  async continued(world) {
    await world.run(openDesk, {
      workflowId: 'turn-first',
      script: inOrder({ toolCalls: [call('report')] }, { text: 'read' }),
    });
    const turn = await world.run(openDesk, {
      workflowId: 'turn-continued',
      continueFrom: 'turn-first',
      script: ({ messages }, n) => {
        const path = /\/sandbox\/tool-results\/\S+\.txt/.exec(JSON.stringify(messages))?.[0];
        const read = { name: 'sandbox__read_file', arguments: { path, length_bytes: 40 } };
        return n === 0 ? { toolCalls: [read, read, read] } : { text: 'read again' };
      },
    });
    return turn.history;
  },
  async 'manifest-lost'(world) {
    const owner = { workflowId: 'turn-manifest-lost', session: 'turn-manifest-lost' };
    const steps = inOrder({ toolCalls: [call('report')] }, { toolCalls: [call('page', { n: 1 })] }, { text: 'read' });
    const turn = await world.run(openDesk, {
      workflowId: owner.workflowId,
      script: async (request, n) => {
        if (n === 1) await world.store.deleteObject(manifestKey(owner));
        return steps(request, n);
      },
    });
    return turn.history;
  },
  async 'iteration-limit'(world) {
    const spec = { ...openDesk, config: { iteration_limit: 2 } };
    return (
      await world.run(spec, {
        workflowId: 'turn-limit',
        script: (_request, n) => ({ toolCalls: [call('page', { n })] }),
      })
    ).history;
  },
  async inline(world) {
    const { client, taskQueue } = world;
    const workflowId = 'own-inline';
    const message = { type: 'user.message' as const, content: 'Twice.' };
    const input = await turnInput(client, { workflowId, spec: specOf(openDesk), message });
    await client.workflow.execute('twoInline', { workflowId, taskQueue, args: [input] });
    return client.workflow.getHandle(workflowId).fetchHistory();
  },
};

const folder = await mkdtemp(join(tmpdir(), 'longshore-record-'));
const home = await openHome({ LONGSHORE_HOME: folder }, folder);
const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
const workflowsPath = fileURLToPath(new URL('../support/own-workflows.ts', import.meta.url));
const activities = { greet: (name: string) => Promise.resolve(name) };
const common = { address: lease.address, identity: 'recorder' };
const world = await createWorld({
  ...common,
  script: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { text: 'read' } : { toolCalls: [call('page', { n: 1 }), call('report')] },
  plugin: { localServers: [desk], mcp: { mcpServers: shopEntries(folder) } },
  worker: { workflowsPath, activities },
});
try {
  for (const [name, record] of Object.entries(recordings)) if (isWanted(name)) await keep(name, await record(world));
  if (isWanted('failed')) await keep('failed', await recordFailed());
  const crashes = CRASH_RECORDINGS.filter(isWanted);
  for await (const [name, history] of recordCrashes(crashes, common)) await keep(name, history);
} finally {
  await world.close();
  await lease.release();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}

/** The model refuses after one step: its results are committed at the end. */
async function recordFailed(): Promise<History> {
  const model = await startModelServer(
    { type: 'answer', answer: { toolCalls: [call('page', { n: 1 })] } },
    { type: 'body', status: 401, body: { error: { message: 'no such key', type: 'auth' } } },
  );
  const failing = await createWorld({ ...common, plugin: { localServers: [desk], env: model.env } });
  try {
    return (await failing.run(openDesk, { workflowId: 'turn-failed' })).history;
  } finally {
    await failing.close();
    await model.close();
  }
}

/** Stack traces name files of this machine; replay does not need them. */
async function keep(name: string, history: History): Promise<void> {
  const json = JSON.stringify(
    JSON.parse(historyToJSON(history)),
    (key, value: unknown) => (key === 'stackTrace' ? '' : value),
    1,
  );
  for (const mark of [hostname(), tmpdir(), process.cwd()]) {
    if (json.includes(mark) || historyText(historyFromJSON(JSON.parse(json))).includes(mark)) {
      throw new Error(`The history ${name} names this machine: ${mark}`);
    }
  }
  await writeFile(new URL(`./${name}.json`, import.meta.url), `${json}\n`);
  console.log(`${name}: ${history.events?.length ?? 0} events, ${json.length} bytes`);
}
