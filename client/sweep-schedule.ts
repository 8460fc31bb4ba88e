// What a Temporal server needs for Longshore beside a Worker: the Search Attributes that turns are found by, and the Schedule of
// the retention sweep. Doing it again changes nothing.
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleHandle,
  type ScheduleOptions,
} from '@temporalio/client';
import proto from '@temporalio/proto';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { SWEEP_SCHEDULE_ID, type RetentionSweepInput } from '../shared/sweep.ts';

/** The wire name of the sweep's Workflow. */
export const SWEEP_WORKFLOW = 'longshoreRetentionSweep';

/** What a set-up did. */
export type SetUp = 'created' | 'updated' | 'unchanged';

/** How the sweep is scheduled. Times in milliseconds. */
export interface SweepScheduleOptions {
  readonly taskQueue: string;
  readonly everyMs: number;
  readonly graceMs: number;
}

/**
 * Creates the Schedule `longshore-retention`, or changes it to these options. A paused one stays paused. A sweep that finds no Worker is
 * not started a second time. Raises the Client's errors.
 */
export async function setUpSweepSchedule(client: Client, options: SweepScheduleOptions): Promise<SetUp> {
  const wanted = scheduleOf(options);
  try {
    await client.schedule.create(wanted);
    return 'created';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  const handle = client.schedule.getHandle(SWEEP_SCHEDULE_ID);
  if (await isAsWanted(handle, options)) return 'unchanged';
  const { spec, action, policies } = wanted;
  await handle.update((before) => ({
    spec,
    action,
    policies: { ...before.policies, ...policies },
    state: before.state,
  }));
  return 'updated';
}

function scheduleOf({ taskQueue, everyMs, graceMs }: SweepScheduleOptions): ScheduleOptions {
  const input: RetentionSweepInput = { graceMs };
  return {
    scheduleId: SWEEP_SCHEDULE_ID,
    spec: { intervals: [{ every: everyMs }] },
    action: {
      type: 'startWorkflow',
      workflowType: SWEEP_WORKFLOW,
      workflowId: SWEEP_SCHEDULE_ID,
      taskQueue,
      args: [input],
    },
    // One sweep that was missed while the server was down is made up for, and no more.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: everyMs },
  };
}

async function isAsWanted(handle: ScheduleHandle, options: SweepScheduleOptions): Promise<boolean> {
  const { spec, action } = await handle.describe();
  const input = action.args?.[0] as RetentionSweepInput | undefined; // read from our own Schedule, and only compared
  return (
    spec.intervals?.length === 1 &&
    spec.intervals[0]?.every === options.everyMs &&
    action.taskQueue === options.taskQueue &&
    action.workflowType === SWEEP_WORKFLOW &&
    input?.graceMs === options.graceMs
  );
}

/** A Search Attribute and its type. */
export type SearchAttributeTypes = { readonly [name: string]: 'Keyword' | 'Datetime' };

/**
 * Registers Search Attributes that the namespace does not have; gives the names of those that are new.
 * Raises `ConfigInvalid` where one has another type, or the server does not let this client register them.
 */
export async function registerSearchAttributes(
  client: Client,
  wanted: SearchAttributeTypes,
): Promise<readonly string[]> {
  const { namespace } = client.options;
  const { operatorService } = client.connection;
  const types = proto.temporal.api.enums.v1.IndexedValueType;
  const typeOf = { Keyword: types.INDEXED_VALUE_TYPE_KEYWORD, Datetime: types.INDEXED_VALUE_TYPE_DATETIME };
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const known = customAttributes ?? {};
    for (const [name, type] of Object.entries(wanted)) {
      if (known[name] !== undefined && known[name] !== typeOf[type]) throw otherType(name, type);
    }
    const missing = Object.entries(wanted).filter(([name]) => known[name] === undefined);
    if (missing.length === 0) return [];
    const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, typeOf[type]]));
    await operatorService.addSearchAttributes({ namespace, searchAttributes });
    return missing.map(([name]) => name);
  } catch (error) {
    if (error instanceof LongshoreError) throw error;
    throw notRegistered(wanted, error);
  }
}

function otherType(name: string, type: string): LongshoreError {
  return new LongshoreError(
    'ConfigInvalid',
    `The Search Attribute \`${name}\` is registered with another type than ${type}`,
    'Remove it (`temporal operator search-attribute remove`), or use a namespace of its own for Longshore.',
  );
}

/** gRPC's codes of a server that does not offer this, or not to this client. */
const REFUSED: readonly unknown[] = [7, 12];

function notRegistered(wanted: SearchAttributeTypes, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (!REFUSED.includes(code)) return error;
  const list = Object.entries(wanted).map(([name, type]) => `${name}=${type}`);
  return new LongshoreError(
    'ConfigInvalid',
    `The Temporal server does not let this client register Search Attributes: ${messageOf(error)}`,
    `Have them registered by who may (on Temporal Cloud by its own tools): ${list.join(', ')}. Turns run without them too.`,
    { cause: error },
  );
}
