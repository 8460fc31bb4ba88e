// Local tools: TypeScript functions with zod schemas, offered as one more MCP server over the SDK's in-memory transport.
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';

import { isObject, type JsonValue } from '../../shared/json.ts';
import type { ToolAnnotations, ToolResponse } from '../../shared/tool-server.ts';
import { depthWords, isDeeperThan, MOST_LEVELS } from './depth.ts';
import { IDEMPOTENCY_KEY_META } from './meta.ts';

/** What a local tool gets beside its arguments. */
export interface LocalToolContext {
  /** Aborts when the call is cancelled or its deadline passes. */
  readonly signal: AbortSignal;
  /** The same on every attempt of one call: for effects that must happen once. */
  readonly idempotencyKey: string;
  /** A sign of life; extends the call's deadline. */
  readonly progress: (message?: string) => Promise<void>;
}

/** What a local tool may return: text, a JSON value, or a whole MCP result (an object with `content` blocks). */
export type LocalToolOutput = JsonValue | ToolResponse;

/** A tool as its author writes it. */
export interface LocalToolOptions<Schema extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly annotations?: ToolAnnotations;
  /** Contract: what it throws becomes an error result for the model; it may be called again with the same key. */
  readonly run: (args: z.output<Schema>, context: LocalToolContext) => LocalToolOutput | Promise<LocalToolOutput>;
}

/** A tool of a local server, whatever its schema. */
export interface LocalTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  readonly annotations?: ToolAnnotations;
  readonly run: (
    args: Record<string, unknown>,
    context: LocalToolContext,
  ) => LocalToolOutput | Promise<LocalToolOutput>;
}

/** A server of local tools. */
export interface LocalServer {
  readonly name: string;
  readonly description?: string;
  readonly tools: readonly LocalTool[];
  /** As of a configured server. */
  readonly timeoutMs?: number;
  /** Its tools honour their idempotency key: a call may be sent again. @default false */
  readonly honoursIdempotencyKeys?: boolean;
}

/** Defines a local tool; its arguments are typed by its schema and checked before `run`. */
export function defineLocalTool<Schema extends z.ZodObject>(tool: LocalToolOptions<Schema>): LocalTool {
  // The SDK's server parses the arguments by `inputSchema` before it calls `run`: they are the schema's output.
  return { ...tool, run: (args, context) => tool.run(args as z.output<Schema>, context) };
}

/** Defines a server of local tools; raises nothing until it is used. */
export function defineLocalServer(server: LocalServer): LocalServer {
  return server;
}

/** Starts the server in this process; the client's end of the connection. */
export async function openLocalServer(local: LocalServer): Promise<Transport> {
  const server = new McpServer({ name: local.name, version: '1' });
  for (const tool of local.tools) register(server, tool);
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  await server.connect(serverEnd);
  return clientEnd;
}

function register(server: McpServer, tool: LocalTool): void {
  const { name, description, inputSchema } = tool;
  const annotations = tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } };
  server.registerTool(name, { description, inputSchema, ...annotations }, async (args, extra) => {
    const key = extra._meta?.[IDEMPOTENCY_KEY_META];
    const progressToken = extra._meta?.progressToken;
    let progress = 0;
    const output = await tool.run(args, {
      signal: extra.signal,
      idempotencyKey: typeof key === 'string' ? key : '',
      progress: async (message) => {
        if (progressToken === undefined) return;
        progress += 1;
        const params = { progressToken, progress, ...(message !== undefined && { message }) };
        await extra.sendNotification({ method: 'notifications/progress', params });
      },
    });
    return toResult(output);
  });
}

/** No JSON passes between the two ends: what JSON cannot hold (dates, `undefined`) is taken out here. */
function toResult(output: LocalToolOutput | undefined): CallToolResult {
  // The SDK's server checks the form of the result.
  if (isResponse(output)) return output as unknown as CallToolResult;
  if (output === undefined) return { content: [] };
  if (typeof output === 'string') return { content: [{ type: 'text', text: output }] };
  if (isDeeperThan(output, MOST_LEVELS)) return { content: [{ type: 'text', text: depthWords('A result') }] };
  const text = JSON.stringify(output);
  const content = [{ type: 'text' as const, text }];
  const value: unknown = JSON.parse(text);
  return isObject(value) ? { content, structuredContent: value } : { content };
}

function isResponse(output: LocalToolOutput | undefined): output is ToolResponse {
  if (!isObject(output) || !Array.isArray(output['content'])) return false;
  return (output['content'] as readonly unknown[]).every(
    (block) => isObject(block) && typeof block['type'] === 'string',
  );
}
