// Tool servers that a test changes while turns run; see mcp-shop-server.ts.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';

/** A tool as the server lists it. */
export interface ShopTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean };
}

/** What the server is at a time. */
export interface ShopState {
  readonly tools: readonly ShopTool[];
  /** It ends when it is started. */
  readonly isDown?: boolean;
  /** It does not answer when it is asked for its tools. */
  readonly isHeld?: boolean;
  /** What its tool `publish` makes of it. */
  readonly next?: ShopState;
}

/** A server, and what it was asked. */
export interface Shop {
  /** Its entry in the configuration. */
  readonly entry: object;
  become(state: ShopState): void;
  /** What it logged, in order. */
  log(): readonly string[];
  /** How many of these lines there are. */
  count(line: string): number;
}

/** Makes one in a folder; it is not started before somebody connects to it. */
export function createShop(folder: string, name: string, state: ShopState): Shop {
  const stateFile = join(folder, `${name}.json`);
  const logFile = join(folder, `${name}.log`);
  const program = fileURLToPath(new URL('./mcp-shop-server.ts', import.meta.url));
  const become = (now: ShopState): void => writeFileSync(stateFile, JSON.stringify(now));
  const log = (): readonly string[] =>
    existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n').filter(Boolean) : [];
  become(state);
  return {
    entry: {
      type: 'stdio',
      command: process.execPath,
      args: [program, stateFile, logFile],
      description: `The shop ${name}: orders and refunds.`,
    },
    become,
    log,
    count: (line) => log().filter((one) => one === line).length,
  };
}

/** The schema of an object with these properties, all required. */
export function shaped(properties: Record<string, object>): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** A tool that only reads. */
export function lookup(name: string, properties: Record<string, object> = { id: { type: 'integer' } }): ShopTool {
  const inputSchema = shaped(properties);
  return { name, description: `Looks up: ${name}.`, inputSchema, annotations: { readOnlyHint: true } };
}

/** A tool that changes things. */
export function action(name: string, properties: Record<string, object> = { id: { type: 'integer' } }): ShopTool {
  return { name, description: `Does: ${name}.`, inputSchema: shaped(properties) };
}

/** Tools that make a catalog too large to be preloaded unasked; nobody calls them. */
export const BULK: readonly ShopTool[] = Array.from({ length: 20 }, (_, index) => ({
  ...lookup(`report_${index}`),
  description: `Monthly report ${index}: what was sold, where, by whom, at which price, and how much of it came back.`,
}));

/** A call by the wrapper. */
export function wrapped(server: string, tool: string, input?: unknown): ScriptedToolCall {
  const rest = input === undefined ? {} : { input };
  return { name: 'call_tool', arguments: { mcp_server: server, tool_name: tool, ...rest } };
}
