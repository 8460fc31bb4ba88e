// `longshore run` as scripts and people use it, on a Worker that `longshore dev` keeps: documents, lines, messages, chains of
// turns, sessions, exit codes.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

import type { CliRun, CliWorld } from '../support/cli.ts';
import { expectDone, expectError, interrupt, openWorld, plan } from '../support/cli.ts';

const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const file = z.strictObject({ path: z.string(), sha256, bytes: count, mediaType: z.string() });
const toolCall = z.strictObject({
  callKey: z.string().regex(/^t\d+\/\d+\/\d+$/),
  server: z.string(),
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  outcome: z.enum(['ok', 'error', 'denied', 'expired', 'cancelled', 'unknown']),
  bytes: count,
  sha256,
  mediaType: z.string(),
  tokens: count,
  tokensAreExact: z.boolean(),
  placement: z.enum(['inline', 'file']),
  rule: z.enum(['fits', 'per-result', 'per-step', 'exempt']),
  path: z.string().nullable(),
  pointerTokens: count,
  files: z.array(file),
  attempts: count,
  durationMs: count,
});
const model = z.strictObject({
  name: z.string(),
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count,
  reasoningTokens: count,
  finishReason: z.string(),
  durationMs: count,
  attempts: count,
});
const stages = ['server', 'tool', 'arguments', 'schema', 'execution', 'reading', 'discovery'];
const discovery = z.strictObject({
  servers: z.array(
    z.strictObject({
      server: z.string().min(1),
      mode: z.enum(['preloaded', 'selective', 'deferred']),
      modeReason: z.literal('small').nullable(),
      tools: count,
      definitionTokens: count.nullable(),
      preloaded: count.nullable(),
      called: count,
      preloadedUnused: count.nullable(),
      loads: count,
      changes: count,
      leftOut: z.array(z.strictObject({ tool: z.string(), problem: z.string() })),
    }),
  ),
  definitionTokens: z.array(count.nullable()),
  calls: count,
  tokens: count,
  roundTrips: count,
  toolsCalled: z.array(z.strictObject({ server: z.string(), tool: z.string(), calls: count })),
  firstUsefulCall: z
    .strictObject({
      callKey: z.string(),
      server: z.string(),
      tool: z.string(),
      afterMs: count.nullable(),
      modelCalls: count,
      sentTokens: count,
    })
    .nullable(),
  failures: z.array(
    z.strictObject({ callKey: z.string(), server: z.string(), tool: z.string(), stage: z.enum(stages) }),
  ),
});
const turn = z.strictObject({
  workflowId: z.string().min(1),
  runId: z.uuid(),
  session: z.string().nullable(),
  status: z.enum(['completed', 'failed', 'cancelled', 'iteration_limit', 'budget', 'waiting', 'running']),
  answer: z.string().nullable(),
  error: z.strictObject({ type: z.string(), message: z.string(), mend: z.string() }).nullable(),
  steps: z.array(z.strictObject({ index: count, model, toolCalls: z.array(toolCall) })),
  tokens: z.strictObject({ original: count, inline: count, sent: count, reported: count }),
  history: z.strictObject({ bytes: count, events: count, runs: count }),
  discovery,
});
type Turn = z.infer<typeof turn>;

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let world: CliWorld;
let dev: CliRun;
const big = JSON.stringify(Array.from({ length: 9_000 }, (_, index) => ({ id: index, name: `item ${index}` })));

beforeAll(async () => {
  world = await openWorld();
  await world.write('data/big.json', big);
  await world.write('data/small.txt', 'a small file\n');
  dev = await world.serve(['dev']);
});

afterAll(async () => {
  await interrupt(dev);
  await world.expectNothingRunning();
  await world.close();
});

async function runJson(...args: readonly string[]): Promise<Turn> {
  return turn.parse(await world.json('run', 'agent.yaml', ...args));
}

const readBoth = plan(
  {
    toolCalls: ['big.json', 'small.txt'].map((path) => ({
      name: 'fs__read_text_file',
      arguments: { path: `data/${path}` },
    })),
    usage: { inputTokens: 1_000, outputTokens: 20, cachedInputTokens: 300, reasoningTokens: 5 },
  },
  { text: 'Both read.', usage: { inputTokens: 2_000, outputTokens: 10 } },
);

describe('run --json', () => {
  let done: Turn;
  beforeAll(async () => {
    const data = readBoth.replaceAll('data/', `${world.folder}/data/`);
    done = await runJson('--message', data);
  });

  it('prints one document of exactly the published form, the same as turns show --json', async () => {
    expect(done.status).toBe('completed');
    expect(done.answer).toBe('Both read.');
    expect(done.error).toBeNull();
    expect(await world.json('turns', 'show', done.workflowId)).toEqual(done);
  });

  it('tells each call with its outcome, size and placement', () => {
    const [first, second] = done.steps[0]?.toolCalls ?? [];
    expect(first).toMatchObject({ callKey: 't1/0/0', server: 'fs', tool: 'read_text_file', outcome: 'ok' });
    expect(first).toMatchObject({ bytes: Buffer.byteLength(big), placement: 'file', rule: 'per-result', attempts: 1 });
    expect(first?.path).toMatch(/^\/sandbox\/tool-results\/t1\.0\.0-read_text_file-[0-9a-f]{16}\.\w+$/);
    expect(second).toMatchObject({ callKey: 't1/0/1', bytes: 13, placement: 'inline', rule: 'fits', path: null });
    expect(second?.arguments).toEqual({ path: `${world.folder}/data/small.txt` });
  });

  it('tells what the provider reported, and its own counts', () => {
    expect(done.steps.map((step) => step.model)).toMatchObject([
      { inputTokens: 1_000, outputTokens: 20, cachedInputTokens: 300, reasoningTokens: 5, finishReason: 'tool-calls' },
      { inputTokens: 2_000, outputTokens: 10, finishReason: 'stop' },
    ]);
    expect(done.tokens.reported).toBe(3_000);
    const [first, second] = done.steps[0]?.toolCalls ?? [];
    expect(done.tokens.original).toBe((first?.tokens ?? 0) + (second?.tokens ?? 0));
    expect(done.tokens.inline).toBe((first?.pointerTokens ?? 0) + (second?.tokens ?? 0));
    expect(done.tokens.sent).toBeGreaterThan(done.tokens.inline);
    expect(done.history.events).toBeGreaterThan(10);
    expect(done.history.bytes).toBeGreaterThan(1_000);
  });
});

describe('run', () => {
  it('shows lines without a terminal: steps, calls, placements, answer, where to look; no escape codes', async () => {
    const message = readBoth.replaceAll('data/', `${world.folder}/data/`);
    const end = await world.longshore(['run', 'agent.yaml', '--message', message]);
    expectDone(end);
    const { stdout, stderr } = end;
    expect(stdout).toMatch(/^step 0 .*asks for 2 calls/m);
    expect(stdout).toMatch(/t1\/0\/0 .*\b[\d,]+ bytes, (about )?[\d,]+ tokens/);
    expect(stdout).toMatch(/t1\/0\/0 .*per-result.*tokens kept out/);
    expect(stdout).toMatch(/t1\/0\/1 inline by rule fits/);
    expect(stdout).toContain('Both read.');
    expect(stdout).toMatch(/http:\/\/\S+\/namespaces\/default\/workflows\/turn-/);
    expect(stdout).toMatch(/longshore (-- )?turns show turn-/);
    // oxlint-disable-next-line no-control-regex
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('takes the message from a file, and from standard input', async () => {
    const path = await world.write('message.txt', 'from a file: dŵr ☕');
    expect((await runJson('--message-file', path)).answer).toBe('You said: from a file: dŵr ☕');
    const piped = await world.longshore(['run', 'agent.yaml', '--message-file', '-', '--json'], { input: 'piped' });
    expect(turn.parse(JSON.parse(piped.stdout)).answer).toBe('You said: piped');
  });

  it('answers the seed messages of a spec when no message is given', async () => {
    const seeded = `name: s\nmodel: {name: openai/scripted}\nmessages: [{type: user.message, content: seeded}]\n`;
    await world.write('seeded.yaml', seeded);
    expect(await world.json('run', 'seeded.yaml')).toMatchObject({ answer: 'You said: seeded', status: 'completed' });
  });

  it('exits 1 with the whole document when the turn ends otherwise than completed', async () => {
    await world.write('short.yaml', 'name: s\nmodel: {name: openai/scripted}\nconfig: {iteration_limit: 1}\n');
    const message = plan({ toolCalls: [{ name: 'sandbox__list_files', arguments: {} }] }, { text: 'never' });
    const { code, stdout } = await world.longshore(['run', 'short.yaml', '--message', message, '--json']);
    expect(code).toBe(1);
    expect(turn.parse(JSON.parse(stdout)).status).toBe('iteration_limit');
  });
});

describe('run --continue and --session', () => {
  it('goes on over a chain of three: same transcript, old files readable, the session inherited', async () => {
    const read = [{ name: 'fs__read_text_file', arguments: { path: `${world.folder}/data/big.json` } }];
    const first = await runJson('--session', 'harbour', '--message', plan({ toolCalls: read }, { text: 'One.' }));
    const path = first.steps[0]?.toolCalls[0]?.path ?? '';
    const second = await runJson('--continue', first.workflowId, '--message', 'two');
    const look = [{ name: 'sandbox__read_file', arguments: { path } }];
    const third = await runJson(
      '--continue',
      second.workflowId,
      '--message',
      plan({ toolCalls: look }, { text: 'Three.' }),
    );
    expect([first, second, third].map(({ session }) => session)).toEqual(['harbour', 'harbour', 'harbour']);
    expect(third.steps[0]?.toolCalls[0]).toMatchObject({ callKey: 't3/0/0', server: 'sandbox', outcome: 'ok' });
    const last = world.model.requests.at(-1)?.messages ?? [];
    expect(last.filter(({ role }) => role === 'user')).toHaveLength(3);
    expect(JSON.stringify(last)).toContain('You said: two');
  });

  it('labels a first turn with its own id, and a continued one anew when told to', async () => {
    const first = await runJson('--message', 'one');
    expect(first.session).toBe(first.workflowId);
    expect((await runJson('--continue', first.workflowId, '--session', 'other', '--message', 'x')).session).toBe(
      'other',
    );
  });

  it('refuses a turn that is not there, and one that is still running', async () => {
    const unknown = await world.longshore(['run', 'agent.yaml', '--continue', 'turn-none', '--message', 'x']);
    expectError(unknown, 'TurnNotFound', 1, /turn-none/);
    const { workflowId } = await world.json<Turn>('run', 'agent.yaml', '--detach', '--message', plan({ wait: true }));
    const running = await world.longshore(['run', 'agent.yaml', '--continue', workflowId, '--message', 'x', '--json']);
    expect(running.code).toBe(1);
    expect(JSON.parse(running.stdout)).toEqual({
      error: { type: 'TurnRunning', message: expect.stringContaining(workflowId), mend: expect.any(String) },
    });
    expect((await world.longshore(['turns', 'cancel', workflowId])).code).toBe(0);
  });
});

describe('run --detach beside dev', () => {
  it('prints the id alone and returns; the turn ends by itself', async () => {
    const end = await world.longshore(['run', 'agent.yaml', '--detach', '--message', 'bye']);
    expectDone(end);
    const { stdout } = end;
    expect(stdout).toMatch(/^\S+\n$/);
    await expect
      .poll(async () => world.json('turns', 'show', stdout.trim()), { timeout: 30_000 })
      .toMatchObject({ status: 'completed', answer: 'You said: bye' });
  });
});
