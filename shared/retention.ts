// How long files are kept once nothing needs them: rules from the spec, frozen into the manifest when a file is pinned, so
// that the sweep needs no spec. Source: architecture D8.

/** One rule, in milliseconds. A pinned or held file is kept whatever the rule says. */
export interface RetentionRule {
  /** The class it came from, for people to read. */
  readonly class?: string;
  /** From the end of the turn. */
  readonly afterTurnMs: number;
  /** From the file's making; the earlier of the two counts. */
  readonly maxAgeMs?: number;
}

/** Rules of a spec. */
export interface RetentionSettings extends RetentionRule {
  readonly classes: { readonly [name: string]: RetentionRule };
}

/** @default of `config.retention.after_turn`, 30 days */
export const DEFAULT_AFTER_TURN_MS = 30 * 86_400_000;

/** What of an agent spec has rules for tools. */
interface SpecOfTools {
  readonly mcp_servers: readonly {
    readonly name: string;
    readonly tool_settings: { readonly [tool: string]: { readonly retention?: RetentionRule } };
  }[];
}

/** The rule for a tool's files where the tool has one of its own; undefined where the turn's default counts. */
export function retentionOfTool(spec: SpecOfTools, server: string, tool: string): RetentionRule | undefined {
  const entry = spec.mcp_servers.find((candidate) => candidate.name === server);
  return entry?.tool_settings[tool]?.retention;
}
