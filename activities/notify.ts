// The Activity `longshoreNotify`: tells the project's hook what happens to calls that wait for a person.
import { runAttempt, type Attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { NotifyInput, NotifyResult } from '../shared/activities.ts';
import type { ApprovalEvent } from '../shared/approval-events.ts';
import type { ApprovalHook } from '../shared/hooks.ts';
import { approvalId, type WaitingCall } from '../shared/approvals.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { JsonObject } from '../shared/json.ts';

/** How long a hook may take over one event. */
const HOOK_TIMEOUT_MS = 30_000;

/** Makes the Activity. It returns at once where the project has no hook. */
export function createNotify(dependencies: ActivityDependencies): (input: NotifyInput) => Promise<NotifyResult> {
  const { hooks, redact } = dependencies;
  return (input) =>
    runAttempt(redact, async (attempt) => {
      const hook = hooks?.onApproval;
      if (!hook) return { hooks: false };
      // All are told before a failure is: one call that a hook cannot take does not keep the others from it.
      const failures: unknown[] = [];
      for (const told of input.calls) {
        const event = await eventOf(input, told, dependencies.store);
        await tell(hook, event, attempt).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw hookFailed(failures);
      return { hooks: true };
    });
}

async function tell(hook: ApprovalHook, event: ApprovalEvent, attempt: Attempt): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooSlow()), HOOK_TIMEOUT_MS);
  const signal = AbortSignal.any([attempt.signal, late.signal]);
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    // A hook that heeds no signal is left behind; one that throws at once does so inside of this promise.
    await Promise.race([Promise.resolve().then(() => hook(event, { signal })), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

async function eventOf(
  { turn, agent, event: type, at }: NotifyInput,
  { call, decided }: NotifyInput['calls'][number],
  store: FileStore,
): Promise<ApprovalEvent> {
  const { workflowId, session } = turn;
  const id = approvalId(workflowId, call.callKey);
  return {
    type,
    eventId: `${id}:${call.digest}:${type}`,
    approvalId: id,
    workflowId,
    session,
    agent,
    call,
    arguments: await argumentsOf(call, store),
    ...(decided && { decided }),
    at,
  };
}

async function argumentsOf({ arguments: args, argumentsRef }: WaitingCall, store: FileStore): Promise<JsonObject> {
  if (!argumentsRef) return args;
  // The blob is verified by hash, and `longshoreCallModel` only stages objects.
  return JSON.parse(Buffer.from(await store.readBlob(argumentsRef.sha256)).toString('utf8')) as JsonObject;
}

function tooSlow(): Error {
  return new Error(`it took more than ${HOOK_TIMEOUT_MS / 1_000} s`);
}

function hookFailed(failures: readonly unknown[]): LongshoreError {
  const [first] = failures;
  const more = failures.length > 1 ? `, and for ${failures.length - 1} more calls` : '';
  return new LongshoreError(
    'HookFailed',
    `The hook \`onApproval\` failed: ${messageOf(first)}${more}`,
    'Look at the hook in temporal.config.ts or the plugin options. The turn goes on without it.',
    { cause: first },
  );
}
