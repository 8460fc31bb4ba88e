// Parts of user messages, as parts of the AI SDK.
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { RequestUserPart } from '../../shared/model.ts';
import { ModelError } from './model-error.ts';

type FilePart = Extract<RequestUserPart, { type: 'file' }>;

/** Text by another name than `text/…`. */
const TEXTUAL = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson|sql)\b)/i;

/**
 * One part. Where the request becomes OpenAI's chat completions, a file that is text becomes a text part headed by its
 * name: that form takes no other files than images, audio and PDF.
 * @throws ModelError `ModelRefused` for an address that is none.
 */
export function userPart(part: RequestUserPart, isChat: boolean): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (isChat && part.data instanceof Uint8Array && TEXTUAL.test(part.mediaType)) {
    const text = new TextDecoder().decode(part.data);
    return { type: 'text', text: part.filename === undefined ? text : `File ${part.filename}:\n\n${text}` };
  }
  return {
    type: 'file',
    mediaType: part.mediaType,
    data:
      part.data instanceof Uint8Array
        ? { type: 'data', data: part.data }
        : { type: 'url', url: readUrl(part, part.data.url) },
    ...(part.filename === undefined ? {} : { filename: part.filename }),
  };
}

function readUrl(part: FilePart, text: string): URL {
  const url = URL.parse(text);
  if (url !== null) return url;
  const message = `The address of a ${part.mediaType} part of a user message is no URL: "${text.slice(0, 200)}".`;
  throw new ModelError('ModelRefused', message, 'Give a whole address, such as https://example.com/image.png.');
}
