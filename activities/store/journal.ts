// The journal of a tool call in the file store: `sent` is written before the request goes out, `answered` after it.
// A later attempt reads it and knows whether the request may have had its effect. Source: architecture D11.
import { z } from 'zod';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';
import type { JsonValue } from '../../shared/json.ts';

/** Which call: the idempotency key of architecture D11. */
export interface JournalKey {
  readonly workflowId: string;
  readonly callKey: string;
  /** Raised by a person's retry, from 0. */
  readonly generation: number;
}

/** What is known of a call: nothing, that its request was sent, or what came of it. */
export type JournalState =
  | { readonly state: 'none' }
  | { readonly state: 'sent'; readonly by: string }
  | { readonly state: 'answered'; readonly facts: JsonValue };

/** The journal of one call. Raises `StoreFull`, `StoreUnavailable`, and `BlobCorrupt` for an entry that is unreadable. */
export interface Journal {
  state(): Promise<JournalState>;
  /**
   * Claims the one sending of the request for `by`, which names one attempt and no other. True when the claim is
   * that attempt's; false when another's came first, and then the request must not be sent.
   */
  markSent(by: string): Promise<boolean>;
  /** Records what came of the call. The first record is final; the one that stands is given back. */
  markAnswered(facts: JsonValue): Promise<JsonValue>;
}

const sentSchema = z.looseObject({ by: z.string() });
const answeredSchema = z.looseObject({ facts: z.json() });

/** Opens the journal of a call; nothing is read or written yet. */
export function openJournal(store: FileStore, key: JournalKey): Journal {
  const entry = (name: string): string =>
    objectKey(sha256Hex, 'journal', key.workflowId, key.callKey, String(key.generation), name);
  const readSent = async () => readEntry(store, entry('sent'), sentSchema);
  const readAnswered = async () => readEntry(store, entry('answered'), answeredSchema);
  return {
    async state() {
      const answered = await readAnswered();
      if (answered !== null) return { state: 'answered', facts: answered.facts };
      const sent = await readSent();
      return sent === null ? { state: 'none' } : { state: 'sent', by: sent.by };
    },
    async markSent(by) {
      if (await writeFirst(store, entry('sent'), { by })) return true;
      return (await readSent())?.by === by;
    },
    async markAnswered(facts) {
      if (await writeFirst(store, entry('answered'), { facts })) return facts;
      const standing = await readAnswered();
      return standing === null ? facts : standing.facts; // null: swept away since, and nothing is left to say
    },
  };
}

/** Whether this write was the first one under the key. */
async function writeFirst(store: FileStore, key: string, value: JsonValue): Promise<boolean> {
  try {
    await store.putObject(key, new TextEncoder().encode(JSON.stringify(value)), { ifAbsent: true });
    return true;
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'StoreConflict') return false;
    throw error;
  }
}

async function readEntry<T>(store: FileStore, key: string, schema: z.ZodType<T>): Promise<T | null> {
  const stored = await store.getObject(key);
  if (stored === null) return null;
  try {
    return schema.parse(JSON.parse(new TextDecoder().decode(stored.body)));
  } catch (error) {
    throw new LongshoreError(
      'BlobCorrupt',
      `The journal entry \`${key}\` in the ${store.description} cannot be read: ${messageOf(error)}.`,
      'Find out by hand whether the call had its effect, then retry it or let it be.',
      { cause: error },
    );
  }
}
