// The seam to tools: MCP servers over stdio and HTTP, local tools, and the built-in sandbox all look like this.
import type { JsonObject, JsonValue } from './json.ts';
import type { ToolAnnotations } from './tool-annotations.ts';

export type { ToolAnnotations } from './tool-annotations.ts';

/** A tool as its server describes it. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
}

/** What a server offers, after all pages. */
export interface ToolListing {
  readonly tools: readonly ToolDefinition[];
  /** The server's own instructions, if it gives any. */
  readonly instructions?: string;
  readonly title?: string;
  /** Tools left out and why (a schema that does not compile, a name given twice). */
  readonly problems: readonly { readonly tool: string; readonly problem: string }[];
  /** Whether it still holds: by the same connection, and no word since that the list changed. @default not known */
  readonly isCurrent?: () => boolean;
}

/** A part of a result that is too large to be a string: UTF-8 text, or JSON as it was sent. */
export interface LargeValue {
  readonly kind: 'text' | 'json';
  /** Belongs to whoever takes the result apart, who may decode it within the same memory: read once. */
  readonly bytes: Uint8Array;
}

/** An MCP tool result as it came: `content` blocks, `structuredContent`, `isError`, `_meta`. */
export interface ToolResponse {
  /** What placeholder strings within `content`, or in the place of `structuredContent`, stand for. @default none do */
  readonly large?: ReadonlyMap<string, LargeValue>;
  readonly content: readonly JsonValue[];
  readonly structuredContent?: JsonValue;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** One call. */
export interface ToolRequest {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Goes into the request's `_meta` as `longshore/idempotency-key`. Source: architecture D11. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Called on every sign of life; extends the deadline. */
  readonly onProgress?: (progress: { readonly message?: string }) => void;
  /** Called before a call that was refused unseen, for its session, goes out by a new connection; what it raises ends the call. */
  readonly beforeResend?: () => Promise<void>;
}

/**
 * A server of tools.
 *
 * Contract: `callTool` resolves with the server's answer, errors of the tool included (`isError`); it raises
 * `McpServerUnavailable` when the request was provably not sent, `ToolCallFailed` when it may have been,
 * `ToolTimeout`, `ToolMessageTooLarge`, and the signal's reason when aborted. It never retries.
 */
export interface ToolServer {
  readonly name: string;
  listTools(signal: AbortSignal): Promise<ToolListing>;
  callTool(request: ToolRequest): Promise<ToolResponse>;
  close(): Promise<void>;
}
