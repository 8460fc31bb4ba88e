// What is told of an Activity that failed and waits.
import proto from '@temporalio/proto';
import { describe, expect, it } from 'vitest';

import { failureText, type PendingActivity, waitText } from '../../cli/pending.ts';

const STATES = proto.temporal.api.enums.v1.PendingActivityState;
const now = new Date(2026, 0, 5, 21, 30, 0).getTime();
const at = (ms: number) =>
  ({ seconds: ms / 1_000, nanos: 0 }) as unknown as NonNullable<PendingActivity['nextAttemptScheduleTime']>;

function pending(more: Partial<PendingActivity> = {}): PendingActivity {
  return {
    activityId: '1',
    activityType: { name: 'longshoreCallModel' },
    attempt: 2,
    maximumAttempts: 9,
    state: STATES.PENDING_ACTIVITY_STATE_SCHEDULED,
    lastFailure: { message: 'slow down' },
    nextAttemptScheduleTime: at(now + 3_600_000),
    ...more,
  };
}

describe('a failed attempt', () => {
  it('is told with when the next one is, unless that is at once', () => {
    const told = 'CallModel failed and is tried again (attempt 2 of 9)';
    expect(failureText(pending(), now)).toBe(`${told}, next try in 60 min, at 22:30:00: slow down`);
    expect(failureText(pending({ nextAttemptScheduleTime: at(now + 45_000) }), now)).toBe(
      `${told}, next try in 45 s, at 21:30:45: slow down`,
    );
    expect(failureText(pending({ nextAttemptScheduleTime: at(now + 1_000) }), now)).toBe(`${told}: slow down`);
    const older = {
      nextAttemptScheduleTime: null,
      lastAttemptCompleteTime: at(now),
      currentRetryInterval: at(7_500_000),
    };
    expect(failureText(pending(older), now)).toContain('next try in 2 h 5 min, at 23:35:00');
    expect(failureText(pending({ attempt: 1 }), now)).toBeNull();
  });

  it('is what the live line waits for, until it or another Activity runs', () => {
    const text = 'CallModel waits for its next try in 59 min, at 22:30:00';
    expect(waitText([pending()], now + 60_000)).toBe(text);
    expect(waitText([pending(), pending({ state: STATES.PENDING_ACTIVITY_STATE_STARTED })], now)).toBeNull();
    expect(waitText([pending({ state: STATES.PENDING_ACTIVITY_STATE_STARTED })], now)).toBeNull();
    expect(waitText([pending()], now + 3_600_000)).toBeNull();
    expect(waitText([], now)).toBeNull();
  });
});
