// The recorded turns that the advice goes by: the newest ones, as evidence, agent by agent.
import type { Client } from '@temporalio/client';
import { turnEvidence, type TurnEvidence } from '../../client/catalog-evidence.ts';
import type { TurnRecord } from '../../client/turn-record.ts';
import { listTurns, readTurnRecord } from '../../client/turns.ts';
import { LongshoreError } from '../../shared/errors.ts';

/** An agent's turns, newest first. */
export interface AgentTurns {
  readonly agent: string;
  readonly turns: readonly TurnEvidence[];
  readonly records: readonly TurnRecord[];
}

/** As many histories are read at once. */
const HISTORIES_AT_ONCE = 8;

/** The newest turns, at most so many, by agent; turns without a model call say nothing, and are left out. */
export async function recordedTurns(client: Client, most: number): Promise<readonly AgentTurns[]> {
  const agents = new Map<string, { turns: TurnEvidence[]; records: TurnRecord[] }>();
  for (const record of await newestRecords(client, most)) {
    const evidence = turnEvidence(record);
    if (!evidence) continue;
    const known = agents.get(evidence.agent) ?? { turns: [], records: [] };
    known.turns.push(evidence);
    known.records.push(record);
    agents.set(evidence.agent, known);
  }
  return [...agents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([agent, known]) => ({ agent, ...known }));
}

async function newestRecords(client: Client, most: number): Promise<readonly TurnRecord[]> {
  const ids: string[] = [];
  for await (const { workflowId } of listTurns(client)) {
    if (ids.length >= most) break;
    ids.push(workflowId);
  }
  const records: (TurnRecord | null)[] = [];
  let next = 0;
  const takeAll = async (): Promise<void> => {
    for (let index = next++; index < ids.length; index = next++) {
      records[index] = await readTurnRecord(client, ids[index] ?? '').catch(unlessGone);
    }
  };
  await Promise.all(Array.from({ length: HISTORIES_AT_ONCE }, takeAll));
  return records.filter((record) => record !== null);
}

/** Retention took it since it was listed. */
function unlessGone(error: unknown): null {
  if (error instanceof LongshoreError && error.type === 'TurnNotFound') return null;
  throw error;
}
