// What `run` is given to say: --message, --message-file, or standard input.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import type { UserMessage } from '../shared/messages.ts';
import { requireUserMessage } from '../shared/user-message.ts';

/** What the command line says. */
export interface MessageOptions {
  readonly message?: string;
  /** A path, or `-` for standard input. */
  readonly messageFile?: string;
}

/** The message, checked; null without one. Raises `UsageInvalid`, `MessageEmpty`, `MessageTooLarge`, `MessageInvalid`. */
export async function readMessage(options: MessageOptions, cwd: string): Promise<UserMessage | null> {
  const { message, messageFile } = options;
  if (message !== undefined && messageFile !== undefined) {
    throw new LongshoreError('UsageInvalid', '--message and --message-file are both given', 'Give one of them.');
  }
  if (message !== undefined) return requireUserMessage({ type: 'user.message', content: message });
  if (messageFile === undefined) return null;
  return requireUserMessage({ type: 'user.message', content: await readText(messageFile, cwd) });
}

async function readText(file: string, cwd: string): Promise<string> {
  const source = file === '-' ? 'Standard input' : `The message file ${resolve(cwd, file)}`;
  const bytes = file === '-' ? await buffer(process.stdin) : await readBytes(resolve(cwd, file));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new LongshoreError(
      'MessageInvalid',
      `${source} is not UTF-8 text`,
      'Convert it to UTF-8; put other data where a tool can read it, and name it in the message.',
      { cause: error },
    );
  }
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new LongshoreError(
      'UsageInvalid',
      `The message file ${path} cannot be read: ${messageOf(error)}`,
      'Give the path of a text file, or - for standard input.',
      { cause: error },
    );
  }
}
