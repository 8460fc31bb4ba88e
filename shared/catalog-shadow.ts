// What recorded turns would have cost with other tools in their tool arrays: the model behind `longshore catalog advise`. A turn
// is taken without the discovery it made; each setting then adds the definitions that it sends and the discovery that it needs.

/** A tool, with what it takes to send its definition and to find it. */
export interface ShadowTool {
  readonly tool: string;
  /** Tokens of its definition in a request. */
  readonly definitionTokens: number;
  /** Tokens of the answer to a search that finds it. */
  readonly findTokens: number;
}

/** What a server offers to the agent. */
export interface ShadowServer {
  readonly server: string;
  readonly tools: readonly ShadowTool[];
}

/** A model call of a turn that needed no discovery. */
export interface ShadowRequest {
  /** Tokens of the request without definitions and without answers of discovery tools. */
  readonly contextTokens: number;
  /** The calls that it asked for and that were right. */
  readonly calls: readonly { readonly server: string; readonly tool: string }[];
}

/** A recorded turn without its discovery. */
export interface ShadowTurn {
  /** Those that its spec names. */
  readonly servers: readonly string[];
  readonly requests: readonly ShadowRequest[];
}

/** What every setting has in common. */
export interface ShadowBasis {
  /** Tokens of the definitions of Longshore's own tools, the discovery tools left out. */
  readonly builtInTokens: number;
  /** Tokens of the discovery tools and what is said of them: in every request where any tool is to be found. */
  readonly discoveryTokens: number;
  /** Model calls that it takes to find what one step needs; at least 1. */
  readonly tripsPerFind: number;
}

/** Of a server's tools, those in the tool array: all, so that nothing is to be found, or these; null for no server at all. */
export type ShadowSetting = 'all' | ReadonlySet<string> | null;

/** By server. One that is left out counts as null. */
export type ShadowSettings = ReadonlyMap<string, ShadowSetting>;

/** What turns come to. */
export interface ShadowCost {
  /** Of all requests together, those for discovery included. */
  readonly tokens: number;
  /** Model calls for discovery alone. */
  readonly roundTrips: number;
}

/** Servers, with what is asked of them again and again. */
export type ShadowCatalogs = ReadonlyMap<string, ReadonlyMap<string, ShadowTool>>;

/** Looks servers up by name, and their tools by theirs. */
export function shadowCatalogs(servers: readonly ShadowServer[]): ShadowCatalogs {
  return new Map(
    servers.map(({ server, tools }) => [server, new Map(tools.map((tool) => [tool.tool, tool] as const))] as const),
  );
}

/** Tokens of the definitions that a setting sends. */
export function definitionTokensOf(tools: ReadonlyMap<string, ShadowTool>, setting: ShadowSetting): number {
  if (setting === null) return 0;
  let tokens = 0;
  for (const [name, { definitionTokens }] of tools) {
    if (setting === 'all' || setting.has(name)) tokens += definitionTokens;
  }
  return tokens;
}

/**
 * What the turns would have cost. Each request has the definitions that the setting sends. Before a request whose calls are of
 * tools that are neither in the tool array nor found yet, there are `tripsPerFind` more, each with the context as it is then; the
 * answers stay in all later requests. Does not depend on the order of turns.
 */
export function shadowCost(
  turns: readonly ShadowTurn[],
  catalogs: ShadowCatalogs,
  settings: ShadowSettings,
  basis: ShadowBasis,
): ShadowCost {
  const arrayTokens = new Map(
    [...catalogs].map(([server, tools]) => [server, definitionTokensOf(tools, settings.get(server) ?? null)] as const),
  );
  let base = 0;
  let extra = 0;
  let finds = 0;
  for (const turn of turns) {
    const isDiscovered = turn.servers.some(
      (server) => typeof settings.get(server) === 'object' && settings.get(server),
    );
    const array =
      basis.builtInTokens +
      (isDiscovered ? basis.discoveryTokens : 0) +
      turn.servers.reduce((sum, server) => sum + (arrayTokens.get(server) ?? 0), 0);
    const found = new Set<ShadowTool>();
    let answers = 0;
    for (const { contextTokens, calls } of turn.requests) {
      const before = found.size;
      let answered = 0;
      for (const tool of toBeFound(calls, catalogs, settings)) {
        if (!found.has(tool)) answered += tool.findTokens;
        found.add(tool);
      }
      if (found.size > before) {
        finds += 1;
        extra += array + contextTokens + answers;
        answers += answered;
      }
      base += array + contextTokens + answers;
    }
  }
  return {
    tokens: base + Math.round(extra * basis.tripsPerFind),
    roundTrips: Math.round(finds * basis.tripsPerFind),
  };
}

function toBeFound(
  calls: ShadowRequest['calls'],
  catalogs: ShadowCatalogs,
  settings: ShadowSettings,
): readonly ShadowTool[] {
  return calls.flatMap(({ server, tool }) => {
    const setting = settings.get(server) ?? null;
    const known = catalogs.get(server)?.get(tool);
    return known && setting !== null && setting !== 'all' && !setting.has(tool) ? [known] : [];
  });
}
