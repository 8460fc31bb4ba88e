// The Activity `longshoreCallModel`: commits the step before, asks the model, appends both to the transcript.
import { LRUCache } from 'lru-cache';
import { runAttempt, type Attempt } from './attempt.ts';
import { createCatalogReader, type ReadCatalog } from './catalogs/read-catalog.ts';
import { lostFilesNotice } from './check-files.ts';
import { withBlocks, type SeenRuns } from './commit.ts';
import { committedMessages, committedTokens, noticeTokens, retriedMessages } from './commit-messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { CallCatalogs } from './judge/catalogs.ts';
import { countTokens } from './measure.ts';
import { asFinal, final, withOwnCount } from './model/finality.ts';
import { createMessageResolver, type MessageResolver } from './messages.ts';
import { proposeCalls } from './proposed-calls.ts';
import { commitAndCheck, createSeenRuns } from './resume.ts';
import { systemText } from './system-text.ts';
import { createTranscriptStore, type Transcript, type TranscriptStore } from './transcript.ts';
import {
  decidedBy,
  decisionsOf,
  type CallModelInput,
  type CallModelResult,
  type LostFile,
  type TurnFrame,
} from '../shared/activities.ts';
import { MODEL_IDLE_TIMEOUT_MS } from '../shared/activity-options.ts';
import type { Catalog } from '../shared/catalog.ts';
import { digestOf } from '../shared/digest.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { ModelUsage } from '../shared/facts.ts';
import type { BlobRef } from '../shared/file-store.ts';
import type { TranscriptMessage } from '../shared/messages.ts';
import type { ModelAnswer, RequestMessage, RequestTool } from '../shared/model.ts';

/** An answer above this goes through history by reference. */
const INLINE_ANSWER_BYTES = 128 * 1024;

/** More of them are told in the transcript alone: this one stands in history. */
const RECORDED_LOST_FILES = 100;

/** A turn's catalog with what requests need of it. */
export interface ToolArray {
  readonly catalog: Catalog;
  readonly definitions: readonly RequestTool[];
  readonly definitionTokens: number;
}

/** What both Activities that commit share, made once a Worker. */
export interface TurnServices {
  readonly transcripts: TranscriptStore;
  readonly runs: SeenRuns;
  readonly resolver: MessageResolver;
  readonly catalogs: ReadCatalog;
  /** A catalog as a turn's requests have it. */
  readonly toolArray: (ref: BlobRef) => Promise<ToolArray>;
  /** Tokens of a system text, counted once: it is the same with every request of a turn. */
  readonly systemTokens: (text: string) => Promise<number>;
}

/** Caches over one store. */
export function createTurnServices({ store }: ActivityDependencies): TurnServices {
  const arrays = new LRUCache<string, ToolArray>({ max: 64 });
  const systemTokens = new LRUCache<string, number>({ max: 64 });
  const catalogs = createCatalogReader(store);
  return {
    transcripts: createTranscriptStore(store),
    runs: createSeenRuns(),
    resolver: createMessageResolver(store),
    catalogs,
    async toolArray(ref) {
      const cached = arrays.get(ref.sha256);
      if (cached) return cached;
      const catalog = await catalogs(ref);
      const definitions = catalog.tools.map(({ exposedName, description, inputSchema }) => ({
        name: exposedName,
        description,
        inputSchema,
      }));
      const { tokens } = await countTokens(JSON.stringify(definitions));
      const array = { catalog, definitions, definitionTokens: tokens };
      arrays.set(ref.sha256, array);
      return array;
    },
    async systemTokens(text) {
      const cached = systemTokens.get(text);
      if (cached !== undefined) return cached;
      const { tokens } = await countTokens(text);
      systemTokens.set(text, tokens);
      return tokens;
    },
  };
}

/** Makes the Activity. */
export function createCallModel(
  dependencies: ActivityDependencies,
  services: TurnServices,
): (input: CallModelInput) => Promise<CallModelResult> {
  return (given) =>
    runAttempt(dependencies.redact, async (attempt) => {
      const input = await withBlocks(given, dependencies.store);
      const { goesOn, lost } = await commitAndCheck(dependencies.store, input, attempt, services.runs);
      // After a wait, a reset or an earlier turn's end what counts is what the store has, not what this Worker remembers.
      const { transcripts } = services;
      const base = await (goesOn ? transcripts.verify(input.head) : transcripts.load(input.head));
      const frame = frameOf(input, base);
      const array = await services.toolArray(frame.catalog);
      const { added, addedTokens } = await addedBy(input, lost);
      const system = systemText(frame, array.catalog);
      const messages = await services.resolver.resolve([...base.messages, ...added]);
      const request = system === '' ? messages : [{ role: 'system' as const, text: system }, ...messages];
      const sentTokens = base.tokens + addedTokens + array.definitionTokens + (await services.systemTokens(system));
      const answer = await ask({ request, frame, array, sentTokens }, attempt, dependencies);
      const step = { input, base, added, addedTokens };
      const loaded = await Promise.all((input.catalogs ?? []).map(async ({ ref }) => services.catalogs(ref)));
      const catalogs = { frame: array.catalog, loaded };
      const result = await appendAnswer(step, answer, catalogs, { dependencies, services });
      const told = lost.length > 0 && { lostFiles: lost.slice(0, RECORDED_LOST_FILES) };
      const { definitionTokens } = array;
      const durationMs = Date.now() - attempt.startedMs;
      return { ...result, ...told, sentTokens, definitionTokens, attempts: attempt.number, durationMs };
    });
}

/** What the model is told beyond the transcript so far: results first, since the calls before them wait for theirs. */
async function addedBy(
  input: CallModelInput,
  lost: readonly LostFile[],
): Promise<{ readonly added: readonly TranscriptMessage[]; readonly addedTokens: number }> {
  const lostNotice = lostFilesNotice(lost);
  const notices = [...retriedMessages(input.retried), ...(lostNotice ? [lostNotice] : [])];
  const said = (await noticeTokens(notices, input.retried)) + (await countMessages(input.messages));
  return {
    added: [...committedMessages(input.commit), ...notices, ...input.messages],
    addedTokens: committedTokens(input.commit) + said,
  };
}

function frameOf(input: CallModelInput, base: Transcript): TurnFrame {
  const frame = input.frame ?? base.frame;
  if (frame) return frame;
  throw new LongshoreError(
    'TranscriptBroken',
    `The transcript of turn \`${input.turn.workflowId}\` has no frame (model, instructions, catalog)`,
    'Start a new turn.',
  );
}

interface Question {
  readonly request: readonly RequestMessage[];
  readonly frame: TurnFrame;
  readonly array: ToolArray;
  readonly sentTokens: number;
}

async function ask(
  { request, frame, array, sentTokens }: Question,
  attempt: Attempt,
  { askModel, modelIdleTimeoutMs: idleMs = MODEL_IDLE_TIMEOUT_MS }: ActivityDependencies,
): Promise<ModelAnswer> {
  const idle = new AbortController();
  const stopIdle = (): void => idle.abort();
  let timer = setTimeout(stopIdle, idleMs);
  try {
    const answer = await askModel({
      model: frame.model.name,
      params: frame.model.params,
      responseFormat: frame.responseFormat,
      messages: request,
      tools: array.definitions,
      signal: AbortSignal.any([attempt.signal, idle.signal]),
      onPart: () => {
        clearTimeout(timer);
        timer = setTimeout(stopIdle, idleMs);
      },
    });
    return checkNotEmpty(answer, attempt);
  } catch (error) {
    if (idle.signal.aborted && !attempt.signal.aborted) throw idleError(frame.model.name, idleMs);
    throw asFinal(withOwnCount(error, sentTokens), attempt.number);
  } finally {
    clearTimeout(timer);
  }
}

/** An empty answer is asked for once more; then the turn ends. */
function checkNotEmpty(answer: ModelAnswer, attempt: Attempt): ModelAnswer {
  const isEmpty = answer.text.trim() === '' && answer.toolCalls.length === 0;
  if (!isEmpty || ['length', 'content-filter', 'refusal'].includes(answer.finishReason)) return answer;
  const error = new LongshoreError(
    'ModelAnswerEmpty',
    `The model \`${answer.modelName}\` answered with neither text nor tool calls (finish reason ${answer.finishReason})`,
    'Ask differently, or use another model.',
  );
  throw attempt.number < 2 ? error : final(error);
}

function idleError(model: string, idleMs: number): LongshoreError {
  const silence = idleMs >= 120_000 ? `${Math.round(idleMs / 60_000)} minutes` : `${idleMs / 1_000} seconds`;
  return new LongshoreError(
    'ModelStreamBroken',
    `The model \`${model}\` sent nothing for ${silence}`,
    'It is asked again; if this repeats, look at the provider.',
  );
}

interface Step {
  readonly input: CallModelInput;
  readonly base: Transcript;
  readonly added: readonly TranscriptMessage[];
  readonly addedTokens: number;
}

type AnswerFacts = Omit<CallModelResult, 'sentTokens' | 'definitionTokens' | 'attempts' | 'durationMs'>;

async function appendAnswer(
  { input, base, added, addedTokens }: Step,
  answer: ModelAnswer,
  catalogs: CallCatalogs,
  { dependencies, services }: { dependencies: ActivityDependencies; services: TurnServices },
): Promise<AnswerFacts> {
  const { store, prices } = dependencies;
  const proposed = await proposeCalls(answer, { input, base, catalogs, store });
  const { text, reasoning } = answer;
  const toolCalls = proposed.map(({ transcript }) => transcript);
  const message: TranscriptMessage = { type: 'assistant.message', text, reasoning, toolCalls };
  const answerTokens = (
    await countTokens(`${text}${JSON.stringify(toolCalls.map(({ name, input }) => [name, input]))}`)
  ).tokens;
  const { turn, frame } = input;
  const segment = { turn, messages: [...added, message], ...(frame && { frame }) };
  const { head } = await services.transcripts.append(base, segment, addedTokens + answerTokens);
  if (!head) throw new LongshoreError('Internal', 'Appending to the transcript gave no head', 'Report this.');
  const { finishReason, modelName, usage } = answer;
  const decided = decidedBy(input);
  const price = prices[input.frame?.model.name ?? base.frame?.model.name ?? ''];
  return {
    head,
    ...(await inlineOrReference(text, dependencies)),
    toolCalls: proposed.map(({ call }) => call),
    finishReason,
    modelName,
    usage,
    ...(price && { costUsd: costOf(usage, price) }),
    ...(decided && { decisionsDigest: digestOf(decisionsOf(decided)) }),
  };
}

async function inlineOrReference(
  text: string,
  { store }: ActivityDependencies,
): Promise<Pick<CallModelResult, 'text' | 'textRef'>> {
  const bytes = Buffer.from(text);
  if (bytes.length <= INLINE_ANSWER_BYTES) return { text };
  return { text: '', textRef: await store.putBlob(bytes) };
}

function costOf(usage: ModelUsage, price: ActivityDependencies['prices'][string]): number {
  const cached = price.cachedInputPerMillionUsd ?? price.inputPerMillionUsd;
  const fresh = usage.inputTokens - usage.cachedInputTokens;
  const total =
    fresh * price.inputPerMillionUsd +
    usage.cachedInputTokens * cached +
    usage.outputTokens * price.outputPerMillionUsd;
  return total / 1_000_000;
}

/** Tokens of user messages; a picture or file counts as its address would at most: 1,000. */
export async function countMessages(messages: CallModelInput['messages']): Promise<number> {
  let total = 0;
  for (const { content } of messages) {
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
    for (const part of parts) total += part.type === 'text' ? (await countTokens(part.text)).tokens : 1_000;
  }
  return total;
}
