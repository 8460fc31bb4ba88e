// The journal of a tool call in the file store: `sent` is written before the request goes out, `answered` after it.
// A later attempt reads it and knows whether the request may have had its effect. Source: architecture D11.
import { z } from 'zod';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';
import type { JsonValue } from '../../shared/json.ts';

/** Which call: the idempotency key of architecture D11, and what it asks for. */
export interface JournalKey {
  readonly workflowId: string;
  readonly callKey: string;
  /** Raised by a person's retry, from 0. */
  readonly generation: number;
  /** Of a person's retry: which one. After a reset generations are counted anew, and must not meet those before it. */
  readonly retry?: string;
  /**
   * Of server, tool and canonical arguments. Under a key that another digest took (a reset or a Workflow's retry in which the
   * model asked for something else) this call is another one, with the key `<generation>-<first 8 of the digest>`.
   */
  readonly argumentsDigest: string;
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
   * Claims the one sending of the request for `by`, which names one attempt and no other. Gives the call's idempotency key when
   * the claim is that attempt's; null when another's came first, and then the request must not be sent.
   */
  markSent(by: string): Promise<string | null>;
  /** Records what came of the call. The first record is final; the one that stands is given back. */
  markAnswered(facts: JsonValue): Promise<JsonValue>;
}

/** Entries from before digests were kept have none: they are taken as the same call. */
const sentSchema = z.looseObject({ by: z.string(), digest: z.string().exactOptional() });
const answeredSchema = z.looseObject({ facts: z.json(), digest: z.string().exactOptional() });

/** Opens the journal of a call; nothing is read or written yet. */
export function openJournal(store: FileStore, key: JournalKey): Journal {
  const { argumentsDigest: digest } = key;
  /** Once an entry of another digest was found; it never goes back, since entries stay. */
  let isOther = false;
  const entry = (name: string): string =>
    objectKey(sha256Hex, 'journal', key.workflowId, key.callKey, generationOf(key, isOther), name);

  async function read<T extends { readonly digest?: string }>(name: string, schema: z.ZodType<T>): Promise<T | null> {
    const found = await readEntry(store, entry(name), schema);
    if (found?.digest === undefined || found.digest === digest || isOther) return found;
    isOther = true;
    return readEntry(store, entry(name), schema);
  }

  /** Whether this write was the first one under the call's key; one that meets another call's entry goes to its own key. */
  async function writeFirst(name: string, value: JsonValue): Promise<boolean> {
    if (await writeAbsent(store, entry(name), value)) return true;
    if (isOther) return false;
    await read(name, z.looseObject({ digest: z.string().exactOptional() }));
    return isOther ? writeAbsent(store, entry(name), value) : false;
  }

  return {
    async state() {
      // First: an entry of another call shows here too, and the answer is then looked for under this call's own key.
      const sent = await read('sent', sentSchema);
      const answered = await read('answered', answeredSchema);
      if (answered !== null) return { state: 'answered', facts: answered.facts };
      return sent === null ? { state: 'none' } : { state: 'sent', by: sent.by };
    },
    async markSent(by) {
      const isFirst = await writeFirst('sent', { by, digest });
      const isMine = isFirst || (await read('sent', sentSchema))?.by === by;
      return isMine ? `${key.workflowId}:${key.callKey}:${generationOf(key, isOther)}` : null;
    },
    async markAnswered(facts) {
      if (await writeFirst('answered', { facts, digest })) return facts;
      const standing = await read('answered', answeredSchema);
      return standing === null ? facts : standing.facts; // null: swept away since, and nothing is left to say
    },
  };
}

/**
 * The idempotency key of a call that needs no journal. Nobody can know whether another call had it before: a call that changes
 * something carries its digest, so that a server that honours keys never answers it with another's result.
 */
export function unrecordedKey(key: JournalKey, { mayChange }: { readonly mayChange: boolean }): string {
  return `${key.workflowId}:${key.callKey}:${generationOf(key, mayChange)}`;
}

function generationOf({ generation, retry, argumentsDigest: digest }: JournalKey, isOther: boolean): string {
  return [String(generation), ...(retry === undefined ? [] : [retry]), ...(isOther ? [digest.slice(0, 8)] : [])].join(
    '-',
  );
}

async function writeAbsent(store: FileStore, key: string, value: JsonValue): Promise<boolean> {
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
