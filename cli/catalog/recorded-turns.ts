// The recorded turns that the advice goes by: the newest ones, as evidence, agent by agent.
import type { Client } from '@temporalio/client';
import { turnEvidence, type TurnEvidence } from '../../client/catalog-evidence.ts';
import type { TurnRecord } from '../../client/turn-record.ts';
import { listTurns, readTurnRecord } from '../../client/turns.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { isUnreachable } from '../temporal-faults.ts';

/** An agent's turns, newest first. */
export interface AgentTurns {
  readonly agent: string;
  readonly turns: readonly TurnEvidence[];
  readonly records: readonly TurnRecord[];
}

/** A turn whose history cannot be read, such as one that was written with a codec. */
export interface UnreadTurn {
  readonly workflowId: string;
  readonly message: string;
}

/** What there is to go by. */
export interface RecordedTurns {
  readonly agents: readonly AgentTurns[];
  /** Those that are left out, in the order of the list. */
  readonly unread: readonly UnreadTurn[];
}

/** As many histories are read at once. */
const HISTORIES_AT_ONCE = 8;

/** The newest turns, at most so many, by agent; turns without a model call say nothing, and are left out. */
export async function recordedTurns(client: Client, most: number): Promise<RecordedTurns> {
  const agents = new Map<string, { turns: TurnEvidence[]; records: TurnRecord[] }>();
  const unread: UnreadTurn[] = [];
  for (const record of await newestRecords(client, most)) {
    if ('message' in record) {
      unread.push(record);
      continue;
    }
    const evidence = turnEvidence(record);
    if (!evidence) continue;
    const known = agents.get(evidence.agent) ?? { turns: [], records: [] };
    known.turns.push(evidence);
    known.records.push(record);
    agents.set(evidence.agent, known);
  }
  const sorted = [...agents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([agent, known]) => ({ agent, ...known }));
  return { agents: sorted, unread };
}

async function newestRecords(client: Client, most: number): Promise<readonly (TurnRecord | UnreadTurn)[]> {
  const ids: string[] = [];
  for await (const { workflowId } of listTurns(client)) {
    if (ids.length >= most) break;
    ids.push(workflowId);
  }
  const records: (TurnRecord | UnreadTurn | null)[] = [];
  let next = 0;
  const takeAll = async (): Promise<void> => {
    for (let index = next++; index < ids.length; index = next++) records[index] = await read(client, ids[index] ?? '');
  };
  await Promise.all(Array.from({ length: HISTORIES_AT_ONCE }, takeAll));
  return records.filter((record) => record !== null);
}

/** Null where retention took it since it was listed. */
async function read(client: Client, workflowId: string): Promise<TurnRecord | UnreadTurn | null> {
  try {
    return await readTurnRecord(client, workflowId);
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'TurnNotFound') return null;
    if (isUnreachable(error)) throw error;
    return { workflowId, message: messageOf(error) };
  }
}
