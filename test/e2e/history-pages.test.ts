// Reading a history page by page on the real server, while the server refuses the places at which pages ended.
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readHistory, type HistoryEvent } from '../../client/history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const STALE = "Current and request branch tokens, or current and request versioned transitions, don't match.";
const PAGE_EVENTS = 3;

let world: World;
let workflowId: string;
beforeAll(async () => {
  world = await createWorld({ script: () => ({ text: 'done' }) });
  ({ workflowId } = await world.run({ name: 'reader' }, { text: 'Go.' }));
});
afterAll(() => world.close());

/** The client, with short pages, and with errors in place of the answers to the second, third, … request. */
function refusing(errors: readonly (Error | undefined)[]): Client {
  const left = [undefined, ...errors];
  const service = world.client.workflowService;
  const getWorkflowExecutionHistory = (request: object): ReturnType<typeof service.getWorkflowExecutionHistory> => {
    const error = left.shift();
    return error
      ? Promise.reject(error)
      : service.getWorkflowExecutionHistory({ ...request, maximumPageSize: PAGE_EVENTS });
  };
  return Object.create(world.client, { workflowService: { value: { getWorkflowExecutionHistory } } }) as Client; // the rest is the real one's
}

async function eventIds(client: Client, follow: boolean): Promise<readonly number[]> {
  const events: HistoryEvent[] = [];
  for await (const page of readHistory(client, { workflowId, follow })) events.push(...page);
  return events.map(({ eventId }) => Number(eventId));
}

const refusal = (code: number, message: string): Error => Object.assign(new Error(message), { code });

describe.each([true, false])('a history, followed: %s', (follow) => {
  it('[TURN-10] is read to its end, each event once, though the places of its pages are refused', async () => {
    const whole = await eventIds(refusing([]), follow);
    expect(whole).toEqual(whole.map((_, index) => index + 1));
    expect(whole.length).toBeGreaterThan(2 * PAGE_EVENTS);
    const stale = refusal(3, STALE);
    expect(await eventIds(refusing([stale]), follow)).toEqual(whole);
    expect(await eventIds(refusing([undefined, stale, undefined, undefined, stale]), follow)).toEqual(whole);
  });

  it('[TURN-10] is not read for ever where they are always refused, and other errors are raised', async () => {
    const refused = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? refusal(3, STALE) : undefined));
    await expect(eventIds(refusing(refused), follow)).rejects.toThrow('branch tokens');
    await expect(eventIds(refusing([refusal(3, 'Invalid NextPageToken.')]), follow)).rejects.toThrow('NextPageToken');
  });
});
