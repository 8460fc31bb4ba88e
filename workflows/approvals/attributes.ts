// The Search Attributes by which people find what waits, over all turns that one Workflow runs.
import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { AgentTurnInput, TurnStatus } from '../../shared/turn.ts';

const STATUS = defineSearchAttributeKey('LongshoreStatus', 'KEYWORD');
const WAITING_SINCE = defineSearchAttributeKey('LongshoreWaitingSince', 'DATETIME');
const REMINDED_AT = defineSearchAttributeKey('LongshoreRemindedAt', 'DATETIME');

/** Since when each turn of this Workflow waits: the earliest counts. */
const waitingSince = new Map<string, number>();

type Registered = Pick<AgentTurnInput, 'searchAttributes' | 'reminderAttribute'>;

/** Whether people see already that a turn waits since then, or with null that it does not; or can be shown nothing. */
export function isShown(turnId: string, since: number | null, { searchAttributes }: Registered): boolean {
  return !searchAttributes || (waitingSince.get(turnId) ?? null) === since;
}

/** Shows that a turn waits since then, or with null that it does not; nothing is sent where nothing changes. */
export function showWaiting(turnId: string, since: number | null, registered: Registered): void {
  const before = earliest();
  if (since === null) waitingSince.delete(turnId);
  else waitingSince.set(turnId, since);
  const now = earliest();
  if (!registered.searchAttributes || now === before) return;
  const isOver = now === null;
  upsertSearchAttributes([
    { key: STATUS, value: isOver ? 'running' : 'waiting' },
    { key: WAITING_SINCE, value: isOver ? null : new Date(now) },
    ...(isOver && registered.reminderAttribute ? [{ key: REMINDED_AT, value: null }] : []),
  ] satisfies SearchAttributeUpdatePair[]);
}

/** Shows that a reminder was due. */
export function showReminder(at: number, { searchAttributes, reminderAttribute }: Registered): void {
  if (searchAttributes && reminderAttribute) upsertSearchAttributes([{ key: REMINDED_AT, value: new Date(at) }]);
}

/** Shows how the turn ended. */
export function showEnd(status: TurnStatus, { searchAttributes }: Registered): void {
  if (searchAttributes) upsertSearchAttributes([{ key: STATUS, value: status }]);
}

function earliest(): number | null {
  return waitingSince.size === 0 ? null : Math.min(...waitingSince.values());
}
