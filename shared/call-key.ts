// The name of a tool call, and the paths of what it leaves behind. No clock and no provider id goes into either.

/** The turn's ordinal in its chain, the step in the turn, the call's index in the step; written `t2/0/3`. */
export interface CallKey {
  readonly turn: number;
  readonly step: number;
  readonly index: number;
}

/** Writes a call key: `t2/0/3`. */
export function formatCallKey(key: CallKey): string {
  return `t${key.turn}/${key.step}/${key.index}`;
}

/** Reads a call key, or gives null if the text is none. */
export function parseCallKey(text: string): CallKey | null {
  const match = /^t(\d+)\/(\d+)\/(\d+)$/.exec(text);
  if (!match) return null;
  return { turn: Number(match[1]), step: Number(match[2]), index: Number(match[3]) };
}

/** Where the results of tool calls appear to the agent. */
export const RESULTS_FOLDER = '/sandbox/tool-results';

/** A tool's name as part of a file name: `[A-Za-z0-9_-]`, at most 40, `tool` if nothing is left. Source: D6. */
export function labelOf(toolName: string): string {
  const label = toolName
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return label === '' ? 'tool' : label;
}

/** What the path of a result is made of. */
export interface ResultPathParts {
  readonly callKey: string;
  readonly tool: string;
  readonly sha256: string;
  /** Without the dot, as in `json`. */
  readonly extension: string;
  /** For a further block of the result (an image, a resource): its number from 1. */
  readonly block?: number;
}

/**
 * The path of a result placed in a file: `/sandbox/tool-results/t1.0.2-read_text_file-<16 of the hash>.json`;
 * further blocks carry `-<block>` before the extension. The same call with the same content has the same path on every
 * retry and replay. Source: architecture D6.
 */
export function resultPath(parts: ResultPathParts): string {
  const key = parts.callKey.replaceAll('/', '.');
  const block = parts.block === undefined ? '' : `-${parts.block}`;
  return `${RESULTS_FOLDER}/${key}-${labelOf(parts.tool)}-${parts.sha256.slice(0, 16)}${block}.${parts.extension}`;
}
