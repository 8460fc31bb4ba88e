// What servers say of their lists of tools (`notifications/tools/list_changed`), and which turns go on with an older one. A
// turn keeps its own catalog; that it was overtaken is recorded with its calls. Source: case srv-2.
import { LRUCache } from 'lru-cache';

/** Turns are forgotten after this many lists; they then count as begun with their next call. */
const MOST_LISTS = 10_000;

/** The changes that this Worker has been told of. */
export interface ToolChanges {
  /** A server says that its list has changed. */
  told(server: string): void;
  /** How often a server has said so. */
  count(server: string): number;
  /** A turn is about to list a server's tools. */
  listing(workflowId: string, server: string): void;
  /** Whether a change was told since the turn listed; since its first call here, where another Worker listed for it. */
  isOvertaken(workflowId: string, server: string): boolean;
}

/** Makes the record of a pool. */
export function createToolChanges(): ToolChanges {
  const counts = new Map<string, number>();
  const lists = new LRUCache<string, number>({ max: MOST_LISTS });
  const count = (server: string): number => counts.get(server) ?? 0;
  const keyOf = (workflowId: string, server: string): string => JSON.stringify([workflowId, server]);
  return {
    told: (server) => void counts.set(server, count(server) + 1),
    count,
    listing: (workflowId, server) => void lists.set(keyOf(workflowId, server), count(server)),
    isOvertaken: (workflowId, server) => {
      const key = keyOf(workflowId, server);
      const listed = lists.get(key);
      if (listed === undefined) lists.set(key, count(server));
      return listed !== undefined && count(server) > listed;
    },
  };
}
