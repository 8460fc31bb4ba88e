// Every stored history replays with the code of today, offline; a tampered one and a changed rule do not.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import type {
  CallModelInput,
  CallModelResult,
  CallToolInput,
  CommitStepResult,
  ProposedCall,
} from '../../shared/activities.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import { replayTurn } from '../../testing/replay.ts';
import { activitiesOf, historyText } from '../support/turn-history.ts';
import { quietRuntime } from '../support/turn-world.ts';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const workflowsPath = fileURLToPath(new URL('../support/own-workflows.ts', import.meta.url));
const folder = fileURLToPath(new URL('../histories/', import.meta.url));
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace('.json', ''));
const read = (name: string): string => readFileSync(`${folder}/${name}.json`, 'utf8');
const load = (name: string): History => historyFromJSON(JSON.parse(read(name)));

let bundle: WorkflowBundle;
beforeAll(async () => {
  quietRuntime();
  bundle = await bundleWorkflowCode({ workflowsPath, logger: quiet });
});
const replay = (history: History | string, workflowBundle = bundle): Promise<void> =>
  replayTurn(history, { workflows: { workflowBundle } });

type Payload = temporal.api.common.v1.IPayload;

/** Changes the value of the first payload, which is JSON. */
function change<T>(payloads: { readonly payloads?: Payload[] | null } | null | undefined, edit: (value: T) => T): void {
  const payload = payloads?.payloads?.[0];
  if (!payload) throw new Error('There is nothing to change');
  const value = JSON.parse(Buffer.from(payload.data ?? []).toString('utf8')) as T;
  payload.data = Buffer.from(JSON.stringify(edit(value)));
}

/** Changes the inputs or results of the nth Activity of a type. */
function tamper<T>(
  history: History,
  { type, nth = 0, what }: { readonly type: string; readonly nth?: number; readonly what: 'input' | 'result' },
  edit: (value: T) => T,
): History {
  const events = history.events ?? [];
  const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type)[
    nth
  ];
  if (what === 'input') change(scheduled?.activityTaskScheduledEventAttributes?.input, edit);
  const completed = events.find(
    (event) => String(event.activityTaskCompletedEventAttributes?.scheduledEventId) === String(scheduled?.eventId),
  );
  if (what === 'result') change(completed?.activityTaskCompletedEventAttributes?.result, edit);
  return history;
}

const mismatch = expect.objectContaining({
  type: 'DecisionMismatch',
  message: expect.stringContaining('DecisionMismatch'),
});

describe('a stored history', () => {
  it('[REPLAY-1] is there for every kind of turn', () => {
    expect(names.sort()).toEqual([
      'ask-approved-and-denied',
      'ask-call-first',
      'ask-cancelled',
      'ask-changed-arguments',
      'ask-expired',
      'ask-one-after-another',
      'ask-question',
      'cancelled',
      'continued',
      'crash-commit-append-before',
      'crash-during-object-write',
      'crash-effect-after',
      'crash-model-completion-before',
      'crash-placement-after',
      'crash-placement-before',
      'crash-server-restart',
      'crash-staged-after',
      'deferred-changed',
      'deferred-found',
      'deferred-gated',
      'denied-and-faults',
      'failed',
      'images',
      'inline',
      'iteration-limit',
      'main',
      'manifest-lost',
    ]);
  });

  it.each(names)('[REPLAY-1] replays offline: %s', async (name) => {
    await expect(replay(read(name))).resolves.toBeUndefined();
  });

  it.each(names)('[REPLAY-1] names no machine: %s', (name) => {
    const text = `${read(name)}\n${historyText(load(name))}`;
    expect(text).not.toMatch(/(^|[^\w.-])\/(home|root|tmp|work|Users|var|private)\//m);
    expect(text).not.toMatch(/[A-Z]:\\\\/);
    expect(text).toContain('recorder');
  });

  it('[REPLAY-1] holds placements of all rules, denials, faults and a refused read between them', () => {
    const all = names.map((name) => historyText(load(name))).join('\n');
    for (const rule of ['fits', 'per-result', 'per-step', 'exempt']) expect(all).toContain(`"rule":"${rule}"`);
    for (const outcome of ['ok', 'error', 'denied', 'cancelled']) expect(all).toContain(`"outcome":"${outcome}"`);
    expect(all).toContain('Refused: this is identical read');
  });
});

describe('a stored history of a crash', () => {
  const ofWorkers = names.filter((name) => name.startsWith('crash-') && name !== 'crash-server-restart');

  it.each(ofWorkers)('[REPLAY-7] has the lost Worker in it: %s', (name) => {
    const events = load(name).events ?? [];
    const attempts = events.map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 1);
    const lostTasks = events.filter((event) => event.workflowTaskTimedOutEventAttributes);
    expect(Math.max(...attempts) > 1 || lostTasks.length > 0).toBe(true);
  });

  it('[REPLAY-7] has the write whose outcome nobody knows in it', () => {
    expect(historyText(load('crash-effect-after'))).toContain('"outcome":"unknown"');
  });

  it('[REPLAY-7] has the restarted server in it, which numbers its tasks anew', () => {
    const ranges = new Set((load('crash-server-restart').events ?? []).map((event) => Number(event.taskId) >> 20));
    expect(ranges.size).toBe(2);
    const ofOne = new Set((load('crash-effect-after').events ?? []).map((event) => Number(event.taskId) >> 20));
    expect(ofOne.size).toBe(1);
  });

  it.each(ofWorkers)('[REPLAY-7] fails when a decision in it was changed: %s', async (name) => {
    const where = { type: 'longshoreCallModel', nth: 1, what: 'input' as const };
    const history = tamper<CallModelInput>(load(name), where, (input) => withFirst(input, { rule: 'exempt' }));
    await expect(replay(history)).rejects.toEqual(mismatch);
  });
});

describe('a stored history of deferred tools', () => {
  const deferred = ['deferred-changed', 'deferred-found', 'deferred-gated'];
  const nondeterminism = /[Nn]ondeterminis/;

  it('[REPLAY-8] has discovery, a fault, a denial, a person’s arguments and a changed schema between them', () => {
    const text = deferred.map((name) => historyText(load(name))).join('\n');
    const parts = [
      '"reason":"discovery"',
      '"reason":"call"',
      '"reason":"changed"',
      '"via":"call_tool"',
      '"schemaChanged"',
    ];
    for (const part of [...parts, 'Refused: ', '"outcome":"denied"', '"changedDigest"']) expect(text).toContain(part);
  });

  it.each(deferred)('[REPLAY-8] fails when a decision in it was changed: %s', async (name) => {
    const where = { type: 'longshoreCallModel', nth: 1, what: 'input' as const };
    const history = tamper<CallModelInput>(load(name), where, (input) => withFirst(input, { outcome: 'cancelled' }));
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it('[REPLAY-8] fails when a wrong call was judged to be right, or the other way round', async () => {
    const where = { type: 'longshoreJudgeCall', what: 'result' as const };
    const right = tamper<ProposedCall>(load('deferred-found'), where, ({ fault: _fault, ...call }) => call);
    await expect(replay(right)).rejects.toThrow(nondeterminism);
    const fault = { type: 'bad-arguments' as const, text: 'no', tokens: 1 };
    const wrong = tamper<ProposedCall>(load('deferred-gated'), where, (call) => ({ ...call, fault }));
    await expect(replay(wrong)).rejects.toThrow(nondeterminism);
  });

  it('[REPLAY-8] fails when what changed did not', async () => {
    const changed = load('deferred-changed');
    const results = activitiesOf<CallToolInput>(changed, 'longshoreCallTool');
    // The server says so with the result of one call, and another finds its own schema changed.
    const unchanged = ['publish', 'refund'].reduce((history, tool) => {
      const nth = results.findIndex(({ input }) => input.tool === tool);
      return tamper<ResultFacts>(history, { type: 'longshoreCallTool', nth, what: 'result' }, (facts) => {
        const { schemaChanged: _changed, note: _note, ...rest } = facts;
        return rest;
      });
    }, changed);
    await expect(replay(unchanged)).rejects.toThrow(nondeterminism);
  });
});

describe('a tampered history', () => {
  const largest = { type: 'longshoreCallTool', what: 'result' as const };

  it('[REPLAY-9] fails alone: those that are replayed at once, or later, are judged for themselves', async () => {
    const tampered = (): History => tamper<ResultFacts>(load('main'), largest, (facts) => ({ ...facts, tokens: 10 }));
    const histories = [load('main'), tampered(), load('continued'), tampered(), load('main')];
    const states = async (): Promise<readonly string[]> =>
      (await Promise.allSettled(histories.map((history) => replay(history)))).map(({ status }) => status);
    const expected = ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'];
    expect(await states()).toEqual(expected);
    // Long enough for an idle Worker to be gone.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await states()).toEqual(expected);
  });

  it('[REPLAY-2] with changed tokens, so that the decision flips, fails', async () => {
    const history = tamper<ResultFacts>(load('main'), largest, (facts) => ({ ...facts, tokens: 10 }));
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it('[REPLAY-2] with tokens changed where the decision stays the same replays: facts alone decide', async () => {
    const history = tamper<ResultFacts>(load('main'), largest, (facts) => ({ ...facts, tokens: facts.tokens + 1 }));
    await expect(replay(history)).resolves.toBeUndefined();
  });

  it('[REPLAY-2] with a changed outcome fails', async () => {
    const history = tamper<ResultFacts>(load('main'), largest, (facts) => ({ ...facts, outcome: 'error' }));
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it.each<readonly [string, (input: CallModelInput) => CallModelInput]>([
    ['a changed placement', (input) => withFirst(input, { placement: 'inline', rule: 'fits' })],
    ['a changed rule', (input) => withFirst(input, { rule: 'per-step' })],
    ['a changed outcome', (input) => withFirst(input, { outcome: 'cancelled' })],
    ['another call', (input) => withFirst(input, { callKey: 't1/0/9' })],
    ['a result taken away', (input) => withResults(input, (results) => results.slice(1))],
    ['results in another order', (input) => withResults(input, (results) => results.toReversed())],
  ])('[REPLAY-3] with %s in the input of the next Activity fails', async (_what, edit) => {
    const history = tamper<CallModelInput>(load('main'), { type: 'longshoreCallModel', nth: 1, what: 'input' }, edit);
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it('[REPLAY-3] with a changed decision in the commit at the end fails', async () => {
    const where = { type: 'longshoreCommitStep', what: 'input' as const };
    const history = tamper<CallModelInput>(load('iteration-limit'), where, (input) =>
      withFirst(input, { rule: 'exempt' }),
    );
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it.each(['0'.repeat(64), undefined])(
    '[REPLAY-4] with another recorded digest (%s) fails',
    async (decisionsDigest) => {
      const model = tamper<CallModelResult>(
        load('main'),
        { type: 'longshoreCallModel', nth: 1, what: 'result' },
        (result) => withDigest(result, decisionsDigest),
      );
      await expect(replay(model)).rejects.toEqual(mismatch);
      const commit = tamper<CommitStepResult>(
        load('iteration-limit'),
        { type: 'longshoreCommitStep', what: 'result' },
        (result) => withDigest(result, decisionsDigest),
      );
      await expect(replay(commit)).rejects.toEqual(mismatch);
    },
  );

  it('[REPLAY-3] changed in both places, input and digest, still fails: the decision is computed anew', async () => {
    const { digestOf } = await import('../../shared/digest.ts');
    const { decisionsOf } = await import('../../shared/activities.ts');
    let digest = '';
    const history = tamper<CallModelInput>(
      load('main'),
      { type: 'longshoreCallModel', nth: 1, what: 'input' },
      (input) => {
        const changed = withFirst(input, { placement: 'inline', rule: 'fits' });
        digest = changed.commit ? digestOf(decisionsOf(changed.commit)) : '';
        return changed;
      },
    );
    tamper<CallModelResult>(history, { type: 'longshoreCallModel', nth: 1, what: 'result' }, (result) =>
      withDigest(result, digest),
    );
    await expect(replay(history)).rejects.toEqual(mismatch);
  });

  it('[REPLAY-5] in which the model asked for other calls fails as any nondeterminism does', async () => {
    const history = tamper<CallModelResult>(load('main'), { type: 'longshoreCallModel', what: 'result' }, (result) => ({
      ...result,
      toolCalls: result.toolCalls.slice(0, 1),
    }));
    await expect(replay(history)).rejects.toThrow(/[Nn]ondeterminis/);
  });
});

describe('changed code', () => {
  it('[REPLAY-6] with another placement rule does not replay a history in silence', async () => {
    const placement = fileURLToPath(new URL('../../shared/placement.ts', import.meta.url));
    const variant = fileURLToPath(new URL('../support/changed-placement-workflows.ts', import.meta.url));
    const changed = await bundleWorkflowCode({
      workflowsPath,
      logger: quiet,
      webpackConfigHook: (config) => {
        const known = config.resolve?.alias;
        const alias = typeof known === 'object' && !Array.isArray(known) ? known : {};
        return { ...config, resolve: { ...config.resolve, alias: { ...alias, [placement]: variant } } };
      },
    });
    await expect(replay(load('main'), changed)).rejects.toEqual(mismatch);
    // What it decides as before, it replays: the gate is the decision, not the code.
    await replay(load('iteration-limit'), changed);
  });
});

type Committed = NonNullable<CallModelInput['commit']>['results'];

function withResults(input: CallModelInput, edit: (results: Committed) => Committed): CallModelInput {
  if (!input.commit) throw new Error('There is no commit to change');
  return { ...input, commit: { ...input.commit, results: edit(input.commit.results) } };
}

function withFirst(input: CallModelInput, change: Partial<Committed[number]>): CallModelInput {
  return withResults(input, (results) =>
    results.map((result, index) => (index === 0 ? { ...result, ...change } : result)),
  );
}

function withDigest<T extends { readonly decisionsDigest?: string }>(
  result: T,
  decisionsDigest: string | undefined,
): T {
  const { decisionsDigest: _, ...rest } = result;
  // The rest of the result as it was; the digest is optional in its type.
  return { ...rest, ...(decisionsDigest !== undefined && { decisionsDigest }) } as T;
}
