// What Activities find out about payloads and calls. Facts are recorded in history; choices are made from them.
import type { JsonValue } from './json.ts';
import type { ToolOutcome } from './messages.ts';

/** The shape of a payload, bounded in size whatever the payload: at most about 600 characters as JSON. */
export type Shape =
  | { readonly kind: 'empty' }
  /** `outline` is a short text such as `object{agents: object(19 keys), data: object(541 keys)}`. */
  | { readonly kind: 'json'; readonly outline: string; readonly partial?: true }
  /** Looks like JSON and is not: where it breaks (byte offset from 0, line from 1) and how. */
  | { readonly kind: 'invalid-json'; readonly offset: number; readonly line: number; readonly problem: string }
  | { readonly kind: 'json-lines'; readonly rows: number; readonly outline: string; readonly partial?: true }
  | {
      readonly kind: 'csv';
      readonly header: readonly string[];
      readonly columns: number;
      readonly rows: number;
      readonly partial?: true;
    }
  /** `partial`: counted over a part of the payload only. */
  | { readonly kind: 'text'; readonly lines: number; readonly longestLine: number; readonly partial?: true }
  | { readonly kind: 'binary'; readonly signature?: string };

/** The first and last characters, safe to show: cut at grapheme boundaries, control characters escaped. */
export interface Preview {
  readonly head: string;
  /** Empty when the head shows the whole. */
  readonly tail: string;
}

/** What `measure` finds out about a payload. */
export interface Measurement {
  readonly bytes: number;
  readonly sha256: string;
  /** Exact up to the asked number; above it an estimate that is never below the proven lower bound. */
  readonly tokens: number;
  readonly tokensAreExact: boolean;
  readonly mediaType: string;
  readonly shape: Shape;
  readonly preview: Preview;
}

/** The estimator behind every token count, recorded beside them. */
export const TOKEN_ESTIMATOR = 'o200k_base/js-tiktoken@1.0.21';

/** A file as history and manifest know it; its bytes are the store's blob of that hash. */
export interface FileFacts {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly mediaType: string;
}

/** A further content block of a result, always staged as a file of its own. */
export interface BlockFacts extends FileFacts {
  /** From 1; the payload itself has none. */
  readonly block: number;
  readonly kind: 'image' | 'audio' | 'resource' | 'resource-link' | 'structured' | 'text';
  /** A name or address to show: a resource's URI, a link's title. */
  readonly label?: string;
}

/** What a tool call left behind: the facts that placement, pointers and records are made of. */
export interface ResultFacts {
  readonly callKey: string;
  readonly outcome: ToolOutcome;
  /** Of the payload, further blocks not counted. */
  readonly bytes: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** Of all that would stand inline: the payload's text, notes on further blocks, and images. */
  readonly tokens: number;
  readonly tokensAreExact: boolean;
  readonly estimator: string;
  readonly pointerTokens: number;
  /** Of what stands in context in place of a whole that could not be saved; the whole's are `tokens`. */
  readonly excerptTokens?: number;
  /** The text as it would stand inline; present only while it may (small enough, not over 64 KiB). */
  readonly inlineText?: string;
  /** Set when the payload is in the store; what is no larger than its pointer is not staged. */
  readonly file?: FileFacts;
  /** The blob with the whole inline text, where that differs from the payload (notes on blocks, an error's head). */
  readonly inlineBlob?: { readonly sha256: string; readonly bytes: number };
  /** The pointer's text; present when staged. */
  readonly pointer?: string;
  /** Empty when the list is long: then `blocksRef` has it, as JSON. */
  readonly blocks: readonly BlockFacts[];
  readonly blocksRef?: { readonly sha256: string; readonly bytes: number };
  /** Blocks that reach a model taking images as images, by their number, while the result is inline. */
  readonly imageBlocks: readonly number[];
  /** Answers of discovery and reads. */
  readonly exempt?: boolean;
  /** Files that the call wrote under a path of its own (`write_file`). */
  readonly written?: readonly FileFacts[];
  /** The call was not made, since the tool's schema is another than the turn knows: hashes; `is` is null for a tool that is gone. */
  readonly schemaChanged?: { readonly was: string; readonly is: string | null };
  /** Anything worth telling in the record: the server's `_meta`, progress, a journal's find. */
  readonly note?: JsonValue;
  /** From 1. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** Usage as the provider reports it; 0 where it reports nothing. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
}
