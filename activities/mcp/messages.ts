// From a line or a body to a JSON-RPC message, and from a message to what a tool answered. Nothing a server sends makes a
// call hang: an answer that cannot be understood is an answer that says so.
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import type { ToolResponse } from '../../shared/tool-server.ts';
import { jsonBytes } from '../payload/large-json.ts';
import { depthWords, isDeeperThan, MOST_LEVELS, withoutDepths } from './depth.ts';
import { claimLarge } from './large-values.ts';

const INVALID_REQUEST = -32_600;
const RESULT_KEYS: ReadonlySet<string> = new Set(['content', 'structuredContent', 'isError', '_meta']);

/** A JSON-RPC error as the server sent it. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * One line of a stdio server as a message; `undefined` for a line that is none (a log on stdout). An answer that breaks the
 * protocol's form becomes an error answer to the same request.
 */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Not JSON: a log line.
    return undefined;
  }
  value = withoutDepth(value);
  // The SDK quotes whole messages that it does not expect, and would overflow the stack in doing so.
  if (isDeeperThan(value, MOST_LEVELS + 1)) return wrongAnswer(value, `is nested deeper than ${MOST_LEVELS} levels`);
  const message = JSONRPCMessageSchema.safeParse(value);
  if (message.success) return message.data;
  const [issue] = message.error.issues;
  return wrongAnswer(value, `breaks the form of JSON-RPC: ${issue?.message ?? 'unknown'}`, { data: whole(value) });
}

/** An answer without what is nested too deeply in its result or its error's data: the rest of it is worth having. */
function withoutDepth(value: unknown): unknown {
  if (!isObject(value) || !isDeeperThan(value, MOST_LEVELS + 1)) return value;
  const { result, error } = value;
  // Both were read from JSON.
  if (isObject(result)) return { ...value, result: withoutDepths(result as JsonObject) };
  if (isObject(error)) return { ...value, error: { ...error, data: depthWords('Data') } };
  return value;
}

/** A message with its large values in their places. */
function whole(message: unknown): unknown {
  if (!isObject(message) || !isObject(message['result'])) return message;
  // It was read from JSON.
  const large = claimLarge(message['result'] as JsonObject);
  return large === undefined ? message : JSON.parse(jsonBytes(message, large).toString('utf8'));
}

/** An error answer in the place of one that cannot be taken; nothing in the place of any other message. */
function wrongAnswer(
  value: unknown,
  problem: string,
  more: { readonly data?: unknown } = {},
): JSONRPCMessage | undefined {
  if (!isObject(value) || !('result' in value || 'error' in value)) return undefined;
  const { id } = value;
  if (typeof id !== 'number' && typeof id !== 'string') return undefined;
  const message = `The server's answer ${problem}. The request was made and may have taken effect`;
  return { jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message, ...more } };
}

/**
 * A tool result as it came, with its large values; members beyond the protocol's own are kept as structured content where
 * there is none. Raises `LostFault` for large values that were held too long.
 */
export function toToolResponse(result: JsonObject): ToolResponse {
  const { content, structuredContent, isError, _meta } = result;
  const blocks: readonly JsonValue[] = Array.isArray(content) ? content : content === undefined ? [] : [content];
  const others = Object.entries(result).filter(([key]) => !RESULT_KEYS.has(key));
  const structured =
    structuredContent ?? (content === undefined && others.length > 0 ? Object.fromEntries(others) : null);
  const large = claimLarge(result);
  return {
    content: blocks,
    ...(large !== undefined && { large }),
    ...(structured !== null && { structuredContent: structured }),
    ...(isError === true && { isError: true }),
    ...(isObject(_meta) && { _meta }),
  };
}

/** A JSON-RPC error as the result the model gets: code, message and data, whole. */
export function errorResponse(error: RpcError): ToolResponse {
  const data =
    error.data === undefined ? '' : `\n${typeof error.data === 'string' ? error.data : JSON.stringify(error.data)}`;
  return { isError: true, content: [{ type: 'text', text: `${error.message} (code ${error.code})${data}` }] };
}
