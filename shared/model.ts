// The seam to models: requests built from a transcript, answers as facts. Drivers stand in `activities/model/`.
import type { AgentSpec } from './agent-spec.ts';
import type { ModelUsage } from './facts.ts';
import type { JsonValue } from './json.ts';

/** A definition in the request's tool array. */
export interface RequestTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonValue;
}

/** A part of a user message in a request. */
export type RequestUserPart =
  | { readonly type: 'text'; readonly text: string }
  /** Bytes, or an address the provider fetches. */
  | {
      readonly type: 'file';
      readonly mediaType: string;
      readonly filename?: string;
      readonly data: Uint8Array | { readonly url: string };
    };

/** A message of a request, with every reference resolved. */
export type RequestMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly parts: readonly RequestUserPart[] }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly reasoning: readonly { readonly text: string; readonly providerMetadata?: JsonValue }[];
      readonly toolCalls: readonly {
        readonly callId: string;
        readonly name: string;
        readonly input: JsonValue;
        readonly providerMetadata?: JsonValue;
      }[];
    }
  | {
      readonly role: 'tool';
      readonly results: readonly {
        readonly callId: string;
        readonly name: string;
        readonly isError: boolean;
        readonly text: string;
        readonly images: readonly { readonly mediaType: string; readonly data: Uint8Array }[];
      }[];
    };

/** One model request. */
export interface ModelRequest {
  /** As in the spec: `provider/model`. */
  readonly model: string;
  readonly params: AgentSpec['model']['params'];
  readonly responseFormat: AgentSpec['response_format'];
  readonly messages: readonly RequestMessage[];
  readonly tools: readonly RequestTool[];
  readonly signal: AbortSignal;
  /** Called for every part that streams in. */
  readonly onPart?: (part: { readonly characters: number }) => void;
}

/** What the model answered. */
export interface ModelAnswer {
  readonly text: string;
  readonly reasoning: readonly { readonly text: string; readonly providerMetadata?: JsonValue }[];
  readonly toolCalls: readonly {
    /** The provider's own id as it came, maybe empty. */
    readonly providerCallId: string;
    readonly name: string;
    /** The arguments' text as it came. */
    readonly inputText: string;
    readonly providerMetadata?: JsonValue;
  }[];
  /** `stop`, `length`, `content-filter`, `refusal` (the text says why), `tool-calls`, `other`. */
  readonly finishReason: string;
  readonly usage: ModelUsage;
  /** The model that answered, as the provider names it; else the asked one. */
  readonly modelName: string;
}

/**
 * Asks a model once, streaming; never retries.
 * Contract: raises only `Model…` errors of the catalogue, classified once, or the signal's reason when aborted;
 * `ModelRateLimited` and `ModelOverloaded` carry the wait the provider asked for (`ModelError.retryAfterMs`).
 */
export type AskModel = (request: ModelRequest) => Promise<ModelAnswer>;
