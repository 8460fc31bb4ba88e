// MCP servers as configured: the form that MCP clients share. The check of a file is in `mcp-config-schema.ts`.
import type { ToolAnnotations } from './tool-server.ts';

interface ServerCommon {
  /** Shown to the model; before the server's own instructions. */
  readonly description?: string;
  /** A call's deadline in milliseconds, extended by progress. @default 300000 */
  readonly timeoutMs?: number;
  /** The largest message taken from the server, in bytes. @default 67108864 (64 MiB) */
  readonly maxMessageBytes?: number;
  /** Overrides of the server's annotations, by tool. */
  readonly annotations?: { readonly [tool: string]: ToolAnnotations };
  /** The server honours `longshore/idempotency-key`: a call may be sent again. @default false */
  readonly honoursIdempotencyKeys?: boolean;
}

/** A server that is a child process. `${NAME}` in `args`, `env` and `cwd` comes from the Worker's environment. */
export interface StdioServerConfig extends ServerCommon {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Relative paths are taken from the configuration file's folder. */
  readonly cwd?: string;
}

/** A server over Streamable HTTP. `${NAME}` in `url` and `headers` comes from the Worker's environment at call time. */
export interface HttpServerConfig extends ServerCommon {
  readonly type: 'http';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
}

/** One configured server. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

/** All configured servers, by name, with the file they came from (for messages). */
export interface McpConfig {
  readonly source: string;
  readonly servers: { readonly [name: string]: McpServerConfig };
}

/** @default of `timeoutMs` */
export const DEFAULT_TOOL_TIMEOUT_MS = 300_000;
/** @default of `maxMessageBytes` */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
