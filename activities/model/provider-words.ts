// Reads what a provider says about a failure, in whatever form it says it: OpenAI's `{error: {…}}`, a bare string, the
// `detail` of Python servers, a plain text.
import { inspect } from 'node:util';
import { isObject } from '../../shared/json.ts';
import { boundText, type Redact } from './redact.ts';

/** A failure as the provider told it. */
export interface ProviderWords {
  /** Bounded to 2 KB, after secrets were taken out; empty if it said nothing readable. */
  readonly message: string;
  /** `code` and `type` as text, for example `insufficient_quota`. */
  readonly codes: readonly string[];
  /** An HTTP status given inside the body, as relays do. */
  readonly status?: number;
}

const LONGEST_MESSAGE_BYTES = 2048;

/** Reads an error body. */
export function wordsOfBody(body: string | undefined, redact: Redact): ProviderWords {
  const text = (body ?? '').trim();
  try {
    return wordsOf(JSON.parse(text), redact);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const message = text.startsWith('<') ? 'an HTML page' : cleaned(text, redact);
    return { message, codes: [] };
  }
}

/** Reads an error value: the parsed body, or what stands under `error` in a stream. */
export function wordsOf(value: unknown, redact: Redact): ProviderWords {
  const outer = isObject(value) ? value : { message: value };
  const inner = isObject(outer['error']) ? outer['error'] : outer;
  const message = [inner['message'], outer['error'], outer['message'], outer['detail']].find(isTelling);
  const codes = [inner['code'], inner['type'], outer['code'], outer['type']].filter(
    (code) => typeof code === 'string' || typeof code === 'number',
  );
  const status = codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599);
  return {
    message: cleaned(asText(message ?? (isObject(value) && Object.keys(value).length > 0 ? value : '')), redact),
    codes: [...new Set(codes.map(String))],
    ...(status === undefined ? {} : { status }),
  };
}

/** In this order: half a secret at the end of what was cut would not be found. */
function cleaned(text: string, redact: Redact): string {
  return boundText(redact(text), LONGEST_MESSAGE_BYTES);
}

function isTelling(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null);
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // Cycles and big integers, which only values that never were JSON have.
    return inspect(value, { depth: 2 });
  }
}
