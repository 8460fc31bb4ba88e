// Checks a user's message before it reaches a Workflow: its form, that it says something, and its size.
import { LongshoreError } from './errors.ts';
import type { UserMessage } from './messages.ts';
import { faultList, type SpecFault } from './spec-fault.ts';
import { checkForm } from './spec-form.ts';
import { isObject } from './json.ts';
import { userMessageSchema } from './user-message-schema.ts';

/** The largest message, in UTF-8 bytes of its JSON. Half of what Temporal takes as one payload, for the spec stands beside it. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** Which error of the catalogue the faults of a message amount to. */
type MessageErrorType = 'MessageEmpty' | 'MessageTooLarge' | 'MessageInvalid';

/** The message, or what is wrong with it. */
export type UserMessageCheck =
  | { readonly message: UserMessage }
  | { readonly type: MessageErrorType; readonly faults: readonly SpecFault[] };

/** Checks a message whole; never throws. A blank one is `MessageEmpty`, whatever else is wrong. */
export function checkUserMessage(value: unknown): UserMessageCheck {
  if (isObject(value) && isBlank(value['content'])) {
    return {
      type: 'MessageEmpty',
      faults: [{ path: 'content', message: 'The message is empty', mend: 'Say what the agent is to do.' }],
    };
  }
  const form = checkForm(userMessageSchema, value);
  if ('faults' in form) return { type: 'MessageInvalid', faults: form.faults };
  // The schema gives `detail?: string | undefined`; JSON knows no undefined, and none was accepted but absence.
  const message = form.data as UserMessage;
  const sizeBytes = utf8Length(JSON.stringify(message));
  if (sizeBytes <= MAX_MESSAGE_BYTES) return { message };
  return { type: 'MessageTooLarge', faults: [tooLarge(sizeBytes)] };
}

/** The checked message. Raises `MessageEmpty`, `MessageTooLarge` or `MessageInvalid`, with all that is wrong. */
export function requireUserMessage(value: unknown): UserMessage {
  const check = checkUserMessage(value);
  if ('message' in check) return check.message;
  const [first, ...others] = check.faults;
  if (first && others.length === 0) {
    throw new LongshoreError(
      check.type,
      first.path === '' ? first.message : `${first.path}: ${first.message}`,
      first.mend,
    );
  }
  throw new LongshoreError(check.type, `The message has ${check.faults.length} faults`, faultList(check.faults));
}

/** UTF-8 bytes of a text, without encoding it; a lone surrogate counts three, as its replacement does. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (isSurrogatePair(unit, text.charCodeAt(i + 1))) {
      bytes += 4;
      i += 1;
    } else bytes += 3;
  }
  return bytes;
}

function isBlank(content: unknown): boolean {
  if (typeof content === 'string') return content.trim() === '';
  if (!Array.isArray(content)) return false;
  return content.every((part) => isObject(part) && part['type'] === 'text' && isBlank(part['text']));
}

function tooLarge(sizeBytes: number): SpecFault {
  return {
    path: '',
    message: `The message has ${sizeBytes} bytes; the limit is ${MAX_MESSAGE_BYTES}`,
    mend: 'Put large data where a tool can read it, and name it in the message; or send fewer or smaller images.',
  };
}

function isSurrogatePair(high: number, low: number): boolean {
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
}
