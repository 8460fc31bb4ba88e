// The Activity that tells a project's hook of waiting calls: what it gets, and that whatever it does stays without an effect.
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNotify } from '../../activities/notify.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import type { NotifyInput } from '../../shared/activities.ts';
import type { ApprovalEvent } from '../../shared/approval-events.ts';
import type { WaitingCall } from '../../shared/approvals.ts';
import type { ApprovalHook } from '../../shared/hooks.ts';

const call = (index: number, more: Partial<WaitingCall> = {}): WaitingCall => ({
  kind: 'approval',
  callKey: `t1/0/${index}`,
  server: 'desk',
  tool: 'change',
  arguments: { n: index },
  digest: 'd'.repeat(64),
  tags: ['@write'],
  selector: '@write',
  since: 1,
  expiresAt: null,
  onDeadline: 'expire',
  files: [],
  ...more,
});

function notify(onApproval: ApprovalHook | undefined, calls: readonly WaitingCall[]): Promise<unknown> {
  const large = Buffer.from(JSON.stringify({ n: 'large' }));
  // The Activity touches the store, the hook and the secrets alone.
  const dependencies = {
    store: { readBlob: () => Promise.resolve(large) },
    redact: (text: string) => text.replaceAll('s3cret', '***'),
    ...(onApproval && { hooks: { onApproval } }),
  } as unknown as ActivityDependencies;
  const turn = { workflowId: 'turn-1', session: 'talk', turn: 1 };
  const input: NotifyInput = {
    turn,
    agent: 'clerk',
    event: 'waiting',
    calls: calls.map((one) => ({ call: one })),
    at: 5,
  };
  return new MockActivityEnvironment().run(createNotify(dependencies), input);
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

describe('a hook for approvals', () => {
  it('[ASK-13] gets each call with ids, agent, session and whole arguments', async () => {
    const told: ApprovalEvent[] = [];
    const ref = { sha256: 'a'.repeat(64), bytes: 13 };
    const result = await notify(
      (event) => void told.push(event),
      [call(0), call(1, { arguments: {}, argumentsRef: ref })],
    );
    expect(result).toEqual({ hooks: true });
    expect(told.map((event) => event.arguments)).toEqual([{ n: 0 }, { n: 'large' }]);
    expect(told[0]).toMatchObject({
      type: 'waiting',
      approvalId: 'turn-1:t1.0.0',
      eventId: `turn-1:t1.0.0:${'d'.repeat(64)}:waiting`,
      workflowId: 'turn-1',
      session: 'talk',
      agent: 'clerk',
      at: 5,
    });
  });

  it('[ASK-13] may be absent: the Activity says so at once', async () => {
    expect(await notify(undefined, [call(0)])).toEqual({ hooks: false });
  });

  it('[ASK-13] that throws keeps no other call from it, and is tried again by Temporal, secrets taken out', async () => {
    const told: string[] = [];
    const hook: ApprovalHook = (event) => {
      told.push(event.call.callKey);
      if (event.call.callKey === 't1/0/0') throw new Error('no chat at s3cret');
    };
    await expect(notify(hook, [call(0), call(1)])).rejects.toMatchObject({
      type: 'HookFailed',
      nonRetryable: false,
      message: 'The hook `onApproval` failed: no chat at ***',
    });
    expect(told).toEqual(['t1/0/0', 't1/0/1']);
  });

  it('[ASK-13] that never ends is given up after 30 s, its signal aborted', async () => {
    let signal: AbortSignal | undefined;
    const hook: ApprovalHook = (_event, context) => {
      ({ signal } = context);
      return new Promise(() => {});
    };
    const telling = notify(hook, [call(0)]).catch((error: unknown) => error);
    await vi.waitFor(() => expect(signal).toBeDefined());
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await telling).toMatchObject({ type: 'HookFailed', message: expect.stringContaining('30 s') });
    expect(signal?.aborted).toBe(true);
  });
});
