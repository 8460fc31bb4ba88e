// The fetch of the built-in provider: finds out whether a successful answer is an event stream at all. The SDK reads a web
// page or a lone JSON object as a stream without events, and its reader keeps a line without an end in memory.
import { MODEL_UNREACHABLE_ATTEMPTS } from '../../shared/activity-options.ts';
import { cleanEvents } from './clean-events.ts';
import { classifyWords } from './errors.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';
import { wordsOfBody } from './provider-words.ts';
import { boundText } from './redact.ts';

/** No event is longer; a stream of one endless line would fill the memory. */
const LONGEST_LINE_BYTES = 32 * 1024 * 1024;

/** As much of a wrong answer as is read to tell what it is. */
const LONGEST_WRONG_ANSWER_BYTES = 64 * 1024;

/**
 * Makes a fetch that calls `send` once and passes event streams on, mended by `cleanEvents`. `onBytes` hears of every chunk: comments
 * that keep a connection alive while a model thinks are no events, and would else look like silence.
 * @throws ModelError the error that a JSON body tells of, else `ModelAnswerInvalid` for what is no event stream;
 * `ModelAnswerTooLarge`, through the stream, for a line above 32 MiB.
 */
export function fetchEventStream(
  context: ModelCallContext,
  { send, onBytes = () => {} }: { readonly send: typeof fetch; readonly onBytes?: (() => void) | undefined },
): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!response.ok) return response;
    if (response.body === null) throw noStream(`no body (status ${response.status})`, context);
    const { status, headers } = response;
    const contentType = headers.get('content-type') ?? '';
    if (contentType.includes('event-stream'))
      return new Response(watched(response.body, context, onBytes), { status, headers });
    // Some servers label streams wrongly, so the first bytes decide.
    const reader = response.body.getReader();
    const first = await reader.read();
    const head = new TextDecoder().decode(first.value ?? new Uint8Array());
    if (first.done || !/^\s*(?:data|event|id|retry)?:/.test(head))
      throw await wrongAnswer(reader, first.value, contentType, context);
    return new Response(watched(resume(reader, first.value), context, onBytes), { status, headers });
  };
}

/** No line without an end reaches the part that gathers lines. */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  context: ModelCallContext,
  onBytes: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return body.pipeThrough(watch(context, onBytes)).pipeThrough(cleanEvents());
}

function watch(
  context: ModelCallContext,
  onBytes: () => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let lineBytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      onBytes();
      const lineEnd = chunk.lastIndexOf(10);
      lineBytes = lineEnd < 0 ? lineBytes + chunk.length : chunk.length - lineEnd - 1;
      if (lineBytes > LONGEST_LINE_BYTES) {
        const message = `${context.model} sent a line of more than ${LONGEST_LINE_BYTES} bytes.`;
        controller.error(new ModelError('ModelAnswerTooLarge', message, 'Lower max_tokens, or look at the provider.'));
        return;
      }
      controller.enqueue(chunk);
    },
  });
}

type ByteReader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

function resume(reader: ByteReader, first: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      const next = await reader.read();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function wrongAnswer(
  reader: ByteReader,
  first: Uint8Array | undefined,
  contentType: string,
  context: ModelCallContext,
): Promise<ModelError> {
  const chunks = first === undefined ? [] : [first];
  let size = first?.length ?? 0;
  for (let next = await reader.read(); !next.done && size < LONGEST_WRONG_ANSWER_BYTES; next = await reader.read()) {
    chunks.push(next.value);
    size += next.value.length;
  }
  await reader.cancel();
  const body = Buffer.concat(chunks).toString('utf8');
  const words = wordsOfBody(body, context.redact);
  // Relays answer 200 and put the provider's error into the body.
  if (/^\s*\{\s*"error"/.test(body)) return classifyWords(words, context);
  const seen = body.trim() === '' ? 'nothing' : `"${boundText(words.message, 200)}"`;
  return noStream(`${contentType === '' ? 'text of no type' : contentType}: ${seen}`, context);
}

/** Almost always an address that leads to something else: it does not mend itself. */
function noStream(what: string, context: ModelCallContext): ModelError {
  const mend = `Check that ${context.addressSetting ?? 'the address'} leads to an API that streams chat completions.`;
  const facts = { maximumAttempts: MODEL_UNREACHABLE_ATTEMPTS };
  return new ModelError('ModelAnswerInvalid', `${context.model} answered no event stream but ${what}.`, mend, facts);
}
