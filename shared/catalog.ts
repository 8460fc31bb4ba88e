// The catalog of a turn: what the servers offer, after the spec's selection, under the names the model uses.
import type { BlobRef } from './file-store.ts';
import type { JsonObject } from './json.ts';
import type { ToolAnnotations } from './tool-annotations.ts';

/** What a call may do, by its annotations: it decides what may be sent again. Source: architecture D11. */
export type ToolEffect = 'read' | 'idempotent' | 'write';

/** Tags of the parity page. */
export type ToolTag = '@read-only' | '@write' | '@destructive';

/** One tool that the agent may call. */
export interface CatalogTool {
  /** Towards the model: at most 64 of `[A-Za-z0-9_-]`, unique in the catalog. */
  readonly exposedName: string;
  readonly server: string;
  readonly tool: string;
  /** The server's title for people, beside a description. @default the tool has none */
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly tags: readonly ToolTag[];
  readonly effect: ToolEffect;
  /** As the server and the configuration have them. @default none are known; the tags say what counts */
  readonly annotations?: ToolAnnotations;
  /** Digest of the input schema. */
  readonly schemaHash: string;
}

/**
 * How a server's tools reach the model: all definitions in the tool array, the selected ones (`preload_tools`), or none, to be
 * found by the discovery tools. Source: architecture D12.
 */
export type CatalogMode = 'preloaded' | 'selective' | 'deferred';

/** What is known of one server in this turn. */
export interface CatalogServer {
  readonly name: string;
  /** @default preloaded: of built-in servers, and in turns from before deferral */
  readonly mode?: CatalogMode;
  /** Why `mode` is not what the spec asks for: with it, no request is larger than with the discovery tools. */
  readonly modeReason?: 'small';
  /** Set while a deferred server was not connected to: the rest is as configured, or as last recorded. */
  readonly unasked?: true;
  /** As configured, else the server's title where it gives no instructions; at most 1,000 characters. */
  readonly description?: string;
  /** The server's own, beside the description; at most 1,000 characters. */
  readonly instructions?: string;
  readonly toolCount: number;
  /** A call's deadline as configured. */
  readonly timeoutMs: number;
  /** Set when the server could not be asked: what to tell the model. */
  readonly unavailable?: string;
  readonly problems: readonly { readonly tool: string; readonly problem: string }[];
}

/** The catalog as stored: sorted by exposed name, so that its hash is that of its content. */
export interface Catalog {
  readonly version: 1;
  readonly servers: readonly CatalogServer[];
  readonly tools: readonly CatalogTool[];
}

/**
 * What one server offered to an agent at one time, as history has it. The content is a `Catalog` of that server alone, in the
 * store: after the spec's selection, under exposed names, sorted by them.
 */
export interface ServerCatalogFacts {
  readonly server: string;
  readonly ref: BlobRef;
  /** Of the content; equal hashes, equal tools. */
  readonly hash: string;
  readonly toolCount: number;
  /** Tokens of all its definitions, by our count: what preloading them would cost a request. */
  readonly definitionTokens: number;
  /** Tools left out, at most 20 of them one by one. */
  readonly problems: CatalogServer['problems'];
  /** Set when the server could not be asked: what to tell the model. The catalog is empty then. */
  readonly unavailable?: string;
  /** The hash that the turn had before, where this is another. */
  readonly changedFrom?: string;
}

/** Where a server's catalog lies; goes with model calls and discovery calls. */
export type ServerCatalogRef = Pick<ServerCatalogFacts, 'server' | 'ref' | 'hash'>;

/** What stands in history of a catalog. */
export interface CatalogFacts {
  readonly ref: BlobRef;
  readonly servers: readonly CatalogServer[];
  readonly toolCount: number;
  /** Tokens of all definitions in the tool array, by our count. */
  readonly definitionTokens: number;
  /** Of deferred and selective servers that were asked at the turn's start. @default none were */
  readonly catalogs?: readonly ServerCatalogFacts[];
}
