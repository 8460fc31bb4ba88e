// The advice for one agent: its recorded turns, its servers, and what both have in common.
import { builtInTokens, discoveryTokens } from '../../worker/catalogs.ts';
import { adviseOn, type Advice } from '../../shared/catalog-advice.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { agentServers } from './agent-servers.ts';
import type { AgentTurns } from './recorded-turns.ts';

/** The advice for one agent. */
export interface AgentAdvice extends Advice {
  readonly agent: string;
  readonly builtInTokens: number;
  readonly discoveryTokens: number;
  /** Servers of its spec of which no catalog is known. */
  readonly unknown: readonly string[];
  /** Servers that are preloaded now, against the spec, since they are small. */
  readonly small: readonly string[];
}

/** Looks up what its servers offer, and advises. Raises what the store raises. */
export async function adviceFor(agent: AgentTurns, store: FileStore): Promise<AgentAdvice> {
  const [{ servers, unknown, small }, own, discovery] = await Promise.all([
    agentServers(agent, store),
    builtInTokens(),
    discoveryTokens(),
  ]);
  const basis = { builtInTokens: own, discoveryTokens: discovery };
  return { agent: agent.agent, ...basis, unknown, small, ...adviseOn({ ...basis, servers, turns: agent.turns }) };
}
