// How a server was used by recorded turns.
import type { ShadowTurn } from './catalog-shadow.ts';

/** What is known of how a server was used. */
export interface ServerEvidence {
  /** Turns whose spec names it, and those that called one of its tools. */
  readonly turns: number;
  readonly turnsWithCalls: number;
  /** Model calls of these turns, discovery left out. */
  readonly requests: number;
  readonly calls: number;
  /** Sorted by name. */
  readonly tools: readonly { readonly tool: string; readonly turns: number; readonly calls: number }[];
}

/** What these turns say of a server. */
export function evidenceOf(server: string, turns: readonly ShadowTurn[]): ServerEvidence {
  const named = turns.filter((turn) => turn.servers.includes(server));
  const tools = new Map<string, { tool: string; turns: number; calls: number }>();
  let turnsWithCalls = 0;
  for (const turn of named) {
    const calls = turn.requests.flatMap((request) => request.calls.filter((call) => call.server === server));
    if (calls.length > 0) turnsWithCalls += 1;
    for (const { tool } of calls) {
      const entry = tools.get(tool) ?? { tool, turns: 0, calls: 0 };
      entry.calls += 1;
      tools.set(tool, entry);
    }
    for (const tool of new Set(calls.map((call) => call.tool))) {
      const entry = tools.get(tool);
      if (entry) entry.turns += 1;
    }
  }
  const used = [...tools.values()].sort((a, b) => (a.tool < b.tool ? -1 : 1));
  return {
    turns: named.length,
    turnsWithCalls,
    requests: named.reduce((sum, turn) => sum + turn.requests.length, 0),
    calls: used.reduce((sum, { calls }) => sum + calls, 0),
    tools: used,
  };
}
