// What an attempt cut short leaves: a shutdown hands a call over at once, a person's cancellation ends it, and a write whose
// request may be out is never called failed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ActivityCancellationDetails, CancelledFailure, RetryState } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCallTool } from '../../activities/call-tool.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { openJournal } from '../../activities/store/journal.ts';
import type { CallToolInput, ProposedCall } from '../../shared/activities.ts';
import { digestOf } from '../../shared/digest.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import type { ToolResponse } from '../../shared/tool-server.ts';
import { afterFailure } from '../../workflows/failures.ts';
import { WORKER_SETTINGS } from '../../worker/create-worker.ts';
import { deskOf, Gates, openDesk, reader } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld } from '../support/turn-world.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-attempts-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const newStore = () => createLocalStore({ folder, namespace: 'default' });

function inputOf(callKey: string, effect: CallToolInput['effect'] = 'write'): CallToolInput {
  const turn = { workflowId: 'turn', session: 'turn', turn: 1 };
  const limits = { perResultTokens: 6_000, previewCharacters: 100, imageTokens: 1_000 };
  return {
    turn,
    callKey,
    server: 'ledger',
    tool: 'post',
    arguments: {},
    schemaHash: '',
    effect,
    generation: 0,
    ...limits,
  };
}

/** Runs the Activity on a server that answers as given; counts what was sent. */
async function callWith(
  input: CallToolInput,
  answer: () => Promise<ToolResponse>,
  {
    attempt = 1,
    maximumAttempts,
    store = newStore(),
  }: { readonly attempt?: number; readonly maximumAttempts?: number; readonly store?: FileStore } = {},
) {
  let sent = 0;
  const server = {
    name: 'ledger',
    listTools: () => Promise.reject(new Error('not asked')),
    callTool: async () => {
      sent += 1;
      return answer();
    },
    close: async () => {},
  };
  const dependencies = {
    store,
    pool: {
      server: () => server,
      names: () => ['ledger'],
      settings: () => ({}),
      toolChanges: { isOvertaken: () => false },
      close: async () => {},
    },
    askModel: () => Promise.reject(new Error('not asked')),
    prices: {},
    localServers: [],
    redact: (text: string) => text.replaceAll('s3cret', '***'),
    redactBytes: (bytes: Uint8Array) => bytes,
  } as unknown as ActivityDependencies; // only what the Activity of a tool call touches
  const environment = new MockActivityEnvironment({
    attempt,
    ...(maximumAttempts !== undefined && { retryPolicy: { maximumAttempts } }),
  });
  const facts: ResultFacts = await environment.run(createCallTool(dependencies), input);
  return { facts, sent };
}

const ok = async (): Promise<ToolResponse> => ({ content: [{ type: 'text', text: 'posted' }] });

describe('a write', () => {
  it('[CRASH-5] that cannot be put on record is not sent, and whoever hears of it learns that', async () => {
    const full = new LongshoreError('StoreFull', 'The file store has no room (ENOSPC).', 'Make room.');
    const store = { ...newStore(), putObject: () => Promise.reject(full) };
    const answer = async (): Promise<ToolResponse> => Promise.reject(new Error('it was sent'));
    const failure: unknown = await callWith(inputOf('t1/0/99'), answer, { store }).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      type: 'StoreFull',
      nonRetryable: false,
      message: expect.stringMatching(/^It was not made, since it could not be put on record before: The file store/),
    });
  });

  it('[CRASH-5] whose record cannot be read is tried again, and then unknown, for it may have been sent', async () => {
    const away = new LongshoreError('StoreUnavailable', 'The file store is away.', 'Wait.');
    const store = { ...newStore(), getObject: () => Promise.reject(away) };
    const input = inputOf('t1/0/98');
    const first: unknown = await callWith(input, ok, { store }).catch((error: unknown) => error);
    expect(first).toMatchObject({ type: 'StoreUnavailable', nonRetryable: false });
    const last = await callWith(input, ok, { store, attempt: 5, maximumAttempts: 5 });
    expect(last).toMatchObject({ sent: 0, facts: { outcome: 'unknown' } });
    expect(last.facts.inlineText).toContain('an earlier attempt may have sent it: The file store is away');
  });

  it('[CRASH-5] that was recorded is given back by a later attempt, and not sent', async () => {
    const first = await callWith(inputOf('t1/0/0'), ok);
    const second = await callWith(inputOf('t1/0/0'), ok, { attempt: 2 });
    expect([first.sent, second.sent]).toEqual([1, 0]);
    expect(second.facts).toMatchObject({ outcome: 'ok', inlineText: 'posted', attempts: 2 });
  });

  it('[CRASH-5] that an earlier attempt had sent without an answer is unknown, in words to act on', async () => {
    const input = inputOf('t1/0/1');
    const argumentsDigest = digestOf(['ledger', 'post', {}]);
    await openJournal(newStore(), {
      workflowId: 'turn',
      callKey: input.callKey,
      generation: 0,
      argumentsDigest,
    }).markSent('an earlier attempt');
    const { facts, sent } = await callWith(input, ok, { attempt: 2 });
    expect(sent).toBe(0);
    expect(facts.outcome).toBe('unknown');
    expect(facts.inlineText).toMatch(/is unknown: .*Worker was lost\. It was not sent again.*Check the state/s);
  });

  it('[FILE-1] in which the model asks for something else at the same call key is sent; the same call is answered from the record', async () => {
    const asked = (sum: number) => ({ ...inputOf('t1/0/9'), arguments: { sum } });
    const outcomes = [];
    for (const sum of [1, 2, 1, 2]) {
      const { facts, sent } = await callWith(asked(sum), async () => ({ content: [{ type: 'text', text: `${sum}` }] }));
      outcomes.push([sent, facts.inlineText]);
    }
    expect(outcomes).toEqual([
      [1, '1'],
      [1, '2'],
      [0, '1'],
      [0, '2'],
    ]);
    const retried = { ...asked(1), generation: 1, retry: 'r1' };
    expect([(await callWith(retried, ok)).sent, (await callWith(retried, ok)).sent]).toEqual([1, 0]);
    expect((await callWith({ ...retried, retry: 'r2' }, ok)).sent).toBe(1);
  });

  it('[CRASH-5] whose answer breaks what takes it in is unknown, not failed, and keeps secrets to itself', async () => {
    const { facts, sent } = await callWith(inputOf('t1/0/2'), () => Promise.reject(new TypeError('no s3cret here')));
    expect(sent).toBe(1);
    expect(facts.outcome).toBe('unknown');
    expect(facts.inlineText).toContain('it was sent, but no *** here');
    expect((await callWith(inputOf('t1/0/2'), ok, { attempt: 2 })).facts.outcome).toBe('unknown');
  });

  it('[CRASH-5] that was provably never sent has failed, and says so', async () => {
    const gone = new LongshoreError('McpServerUnavailable', 'The ledger is not there', 'Start it.');
    const { facts } = await callWith(inputOf('t1/0/3'), () => Promise.reject(gone));
    expect(facts).toMatchObject({ outcome: 'error' });
  });

  it('[CRASH-6] lost with its Worker on the last attempt is unknown to the model', () => {
    const cause = ApplicationFailure.create({
      type: 'WorkerMissing',
      message: 'The Worker was shut down while this ran',
    });
    const failure = new ActivityFailure(
      'failed',
      'longshoreCallTool',
      '1',
      RetryState.MAXIMUM_ATTEMPTS_REACHED,
      'w',
      cause,
    );
    const call = { effect: 'write' } as ProposedCall; // all that the words depend on
    expect(afterFailure(call, failure, false)).toMatchObject({ outcome: 'unknown' });
    expect(afterFailure({ ...call, effect: 'read' }, failure, false)).toMatchObject({ outcome: 'error' });
  });
});

describe('an attempt that is cut short', () => {
  it('[CRASH-7] by a person is cancelled', async () => {
    const environment = new MockActivityEnvironment();
    const { runAttempt } = await import('../../activities/attempt.ts');
    const run = environment.run(() =>
      runAttempt(
        (text) => text,
        async ({ signal }) => waitFor(signal),
      ),
    );
    environment.cancel('CANCELLED');
    await expect(run).rejects.toBeInstanceOf(CancelledFailure);
  });

  it('[CRASH-7] by its Worker’s shutdown is tried again after one second, and is not cancelled', async () => {
    const environment = new MockActivityEnvironment();
    const { runAttempt } = await import('../../activities/attempt.ts');
    const run = environment.run(() =>
      runAttempt(
        (text) => text,
        async ({ signal }) => waitFor(signal),
      ),
    );
    environment.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }));
    await expect(run).rejects.toMatchObject({ type: 'WorkerMissing', nonRetryable: false, nextRetryDelay: 1_000 });
  });

  it('[CRASH-7] by a shutdown on a real server waits for the next Worker', async () => {
    const gates = new Gates();
    const desk = deskOf(
      reader('slow', async (_args, { signal }) => {
        await gates.pass('slow', signal);
        return 'read';
      }),
    );
    const world = await createWorld({ plugin: { localServers: [desk] }, worker: { shutdownGraceTime: '100ms' } });
    try {
      const script = inOrder({ toolCalls: [{ name: 'desk__slow', arguments: {} }] }, { text: 'done' });
      const turn = await world.start(openDesk, { text: 'Go.', script });
      await gates.reached('slow');
      await world.worker.stop();
      const { raw } = await world.client.workflow.getHandle(turn.workflowId).describe();
      const [pending] = raw.pendingActivities ?? [];
      expect(pending?.lastFailure?.applicationFailureInfo?.type).toBe('WorkerMissing');
      expect(Number(pending?.currentRetryInterval?.seconds ?? 0)).toBe(1);
      gates.open('slow');
      await world.addWorker();
      const { result, requests } = await turn.ended();
      expect(result.status).toBe('completed');
      expect(toolTexts(requests[1])).toEqual(['read']);
    } finally {
      await world.close();
    }
  });

  it('[CRASH-7] has the whole grace time first, which ends before a supervisor’s usual SIGKILL after 10 s', () => {
    expect(WORKER_SETTINGS).toMatchObject({ shutdownGraceTime: '8s', shutdownForceTime: '20s' });
  });
});

async function waitFor(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
