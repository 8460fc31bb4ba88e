// The messages of a conversation, as callers give them and as the transcript keeps them.
import type { BlobRef } from './file-store.ts';
import type { JsonValue } from './json.ts';
import type { Placement, PlacementRule } from './placement.ts';

/** A part of a user's message, in the OpenAI form. Images and files come as `data:` or `https:` addresses. */
export type UserPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | {
      readonly type: 'file';
      /** `file_data` is a `data:` address (media type and base64) or bare base64 of a PDF. */
      readonly file: { readonly file_data: string; readonly filename?: string };
    };

/** A user's message. Source: parity page. */
export interface UserMessage {
  readonly type: 'user.message';
  readonly content: string | readonly UserPart[];
}

/** A tool call as the model asked for it. */
export interface AssistantToolCall {
  readonly callKey: string;
  /** The id used towards the provider: its own where usable, else one made from the call key. */
  readonly callId: string;
  /** The name the model used, as it came. */
  readonly name: string;
  /** Parsed arguments, or the raw text where it was not a JSON object. */
  readonly input: JsonValue;
  /** Opaque data the provider wants back. */
  readonly providerMetadata?: JsonValue;
}

/** The model's message. */
export interface AssistantMessage {
  readonly type: 'assistant.message';
  readonly text: string;
  readonly reasoning?: readonly { readonly text: string; readonly providerMetadata?: JsonValue }[];
  readonly toolCalls: readonly AssistantToolCall[];
}

/** How a tool call ended; exactly one of these for every call. */
export type ToolOutcome = 'ok' | 'error' | 'denied' | 'expired' | 'cancelled' | 'unknown';

/** A piece of a tool result in the transcript: text as it stands in context, or a blob with that text or an image. */
export type ToolResultPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'text-blob'; readonly ref: BlobRef }
  | { readonly type: 'image-blob'; readonly ref: BlobRef; readonly mediaType: string };

/** A tool's result as it stands in context. */
export interface ToolResultMessage {
  readonly type: 'tool.result';
  readonly callKey: string;
  readonly callId: string;
  readonly name: string;
  readonly outcome: ToolOutcome;
  readonly placement: Placement;
  readonly rule: PlacementRule;
  readonly parts: readonly ToolResultPart[];
}

/** What Longshore itself has to tell the model: files that are gone, a result that was made anew. Sent as a user's message. */
export interface NoticeMessage {
  readonly type: 'notice';
  readonly parts: readonly ToolResultPart[];
}

/** Anything in a transcript. */
export type TranscriptMessage = UserMessage | AssistantMessage | ToolResultMessage | NoticeMessage;
