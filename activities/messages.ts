// From the transcript to a model request: references become text and images, and nothing else changes.
import { LRUCache } from 'lru-cache';
import type { FileStore } from '../shared/file-store.ts';
import type {
  AssistantMessage,
  NoticeMessage,
  ToolResultMessage,
  ToolResultPart,
  TranscriptMessage,
  UserMessage,
  UserPart,
} from '../shared/messages.ts';
import type { RequestMessage, RequestUserPart } from '../shared/model.ts';

type ToolResults = Extract<RequestMessage, { role: 'tool' }>['results'];
type ToolResult = ToolResults[number];

/** Bytes of result texts, and as many of images, kept in memory by hash. */
const CACHE_BYTES = 64 * 1024 * 1024;

/** Resolves transcripts into requests. */
export interface MessageResolver {
  resolve(messages: readonly TranscriptMessage[]): Promise<RequestMessage[]>;
}

/** A resolver over one store, with a cache: a turn sends the same results with every step. */
export function createMessageResolver(store: FileStore): MessageResolver {
  const texts = new LRUCache<string, string>({ maxSize: CACHE_BYTES, sizeCalculation: (text) => 2 * text.length + 1 });
  const blobs = new LRUCache<string, Uint8Array>({ maxSize: CACHE_BYTES, sizeCalculation: (blob) => blob.length + 1 });

  async function read(sha256: string): Promise<Uint8Array> {
    const cached = blobs.get(sha256);
    if (cached) return cached;
    const blob = await store.readBlob(sha256);
    blobs.set(sha256, blob);
    return blob;
  }

  /** Decoded once: a long turn would else decode megabytes with every step. */
  async function readText(sha256: string): Promise<string> {
    const cached = texts.get(sha256);
    if (cached !== undefined) return cached;
    const text = Buffer.from(await store.readBlob(sha256)).toString('utf8');
    texts.set(sha256, text);
    return text;
  }

  async function toolResult(message: ToolResultMessage): Promise<ToolResult> {
    const texts: string[] = [];
    const images: { mediaType: string; data: Uint8Array }[] = [];
    for (const part of message.parts) await addPart(part, texts, images);
    const { callId, name, outcome } = message;
    // Chat forms have no place for the flag: the text itself says how the call ended.
    const label = outcome === 'ok' ? '' : `[${outcome}] `;
    return { callId, name, isError: outcome !== 'ok', text: `${label}${texts.join('\n')}`, images };
  }

  /** No form of chat has a role for it; a system message in the middle is refused by many providers. */
  async function notice(message: NoticeMessage): Promise<RequestMessage> {
    const texts: string[] = [];
    const images: { mediaType: string; data: Uint8Array }[] = [];
    for (const part of message.parts) await addPart(part, texts, images);
    const files = images.map((image) => ({ type: 'file' as const, ...image }));
    return { role: 'user', parts: [{ type: 'text', text: texts.join('\n') }, ...files] };
  }

  async function addPart(
    part: ToolResultPart,
    texts: string[],
    images: { mediaType: string; data: Uint8Array }[],
  ): Promise<void> {
    switch (part.type) {
      case 'text':
        texts.push(part.text);
        return;
      case 'text-blob':
        texts.push(await readText(part.ref.sha256));
        return;
      case 'image-blob':
        images.push({ mediaType: part.mediaType, data: await read(part.ref.sha256) });
    }
  }

  async function resolve(messages: readonly TranscriptMessage[]): Promise<RequestMessage[]> {
    const request: RequestMessage[] = [];
    let results: ToolResult[] | null = null;
    for (const message of messages) {
      if (message.type === 'tool.result') {
        if (!results) request.push({ role: 'tool', results: (results = []) });
        results.push(await toolResult(message));
        continue;
      }
      results = null;
      if (message.type === 'notice') request.push(await notice(message));
      else request.push(message.type === 'user.message' ? userMessage(message) : assistantMessage(message));
    }
    return request;
  }

  return { resolve };
}

function assistantMessage(message: AssistantMessage): RequestMessage {
  const toolCalls = message.toolCalls.map(({ callId, name, input, providerMetadata }) => ({
    callId,
    name,
    input,
    ...(providerMetadata !== undefined && { providerMetadata }),
  }));
  return { role: 'assistant', text: message.text, reasoning: message.reasoning ?? [], toolCalls };
}

function userMessage(message: UserMessage): RequestMessage {
  if (typeof message.content === 'string') return { role: 'user', parts: [{ type: 'text', text: message.content }] };
  return { role: 'user', parts: message.content.map(userPart) };
}

function userPart(part: UserPart): RequestUserPart {
  switch (part.type) {
    case 'text':
      return part;
    case 'image_url':
      return filePart(part.image_url.url, 'image/*');
    case 'file':
      return filePart(part.file.file_data, 'application/pdf', part.file.filename);
  }
}

function filePart(address: string, mediaType: string, filename?: string): RequestUserPart {
  const named = filename === undefined ? {} : { filename };
  const data = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/s.exec(address);
  if (data) {
    const isBase64 = data[2]?.endsWith(';base64') ?? false;
    const body = data[3] ?? '';
    const bytes = isBase64 ? Buffer.from(body, 'base64') : Buffer.from(decodeURIComponent(body));
    return { type: 'file', mediaType: data[1] === '' ? mediaType : (data[1] ?? mediaType), data: bytes, ...named };
  }
  if (/^https?:/.test(address)) return { type: 'file', mediaType, data: { url: address }, ...named };
  return { type: 'file', mediaType, data: Buffer.from(address, 'base64'), ...named };
}
