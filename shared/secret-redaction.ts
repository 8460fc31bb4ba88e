// Takes secrets out of texts and bytes, in whatever of their forms they stand there, in one pass over what may be 50 MB.
import { formsOf } from './secret-forms.ts';
import { createSearch, type Search, type Span } from './secret-search.ts';

/** What stands in a text where a secret stood. */
export const REDACTED = '[redacted]';

/** The search goes on in steps of the shortest text's length: shorter ones than this are looked for one by one. */
const SHORTEST_IN_SEARCH = 8;
/** Lists of secrets whose searches are kept: a Worker has a few, and a new one whenever a token was replaced. */
const KEPT = 8;

/** Everything that is looked for. */
interface Wanted {
  readonly short: readonly string[];
  readonly inTexts: Search;
  readonly inBytes: Search;
  readonly longest: number;
}

const kept = new Map<string, Wanted>();

/** The text with every occurrence of every secret replaced, encoded ones too; occurrences that overlap become one. */
export function redact(text: string, secrets: readonly string[]): string {
  const { short, inTexts } = wantedOf(secrets);
  const spans = together([
    inTexts(text),
    ...short.map((secret) => spansOf((from) => text.indexOf(secret, from), secret.length)),
  ]);
  if (spans.length === 0) return text;
  let clean = '';
  let end = 0;
  for (const span of spans) {
    clean += text.slice(end, span.start) + REDACTED;
    end = span.end;
  }
  return clean + text.slice(end);
}

/** Where secrets stand in UTF-8; `indexOf` finds a text in the same bytes, as a `Buffer` does. */
export function secretSpans(
  bytes: Uint8Array,
  secrets: readonly string[],
  indexOf: (text: string, from: number) => number,
): readonly Span[] {
  const { short, inBytes } = wantedOf(secrets);
  const found = short.map((secret) => spansOf((from) => indexOf(secret, from), sizeOf(secret)));
  return together([inBytes(bytes), ...found]);
}

/** The length of the longest text that `redact` takes out whole, in characters. */
export function longestForm(secrets: readonly string[]): number {
  return wantedOf(secrets).longest;
}

function wantedOf(secrets: readonly string[]): Wanted {
  const key = JSON.stringify(secrets);
  const known = kept.get(key);
  if (known) return known;
  const forms = [...new Set(secrets.flatMap((secret) => formsOf(secret)))].filter((form) => form !== '');
  const long = forms.filter((form) => form.length >= SHORTEST_IN_SEARCH);
  const encoder = new TextEncoder();
  const wanted: Wanted = {
    short: forms.filter((form) => form.length < SHORTEST_IN_SEARCH),
    inTexts: createSearch(long),
    inBytes: createSearch(long.map((form) => encoder.encode(form))),
    longest: Math.max(0, ...forms.map((form) => form.length)),
  };
  const [oldest] = kept.keys();
  if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(key, wanted);
  return wanted;
}

function spansOf(indexOf: (from: number) => number, length: number): readonly Span[] {
  const spans: Span[] = [];
  for (let start = indexOf(0); start !== -1; start = indexOf(start + 1)) spans.push({ start, end: start + length });
  return spans;
}

/** In order; those that overlap are one. */
function together(lists: readonly (readonly Span[])[]): readonly Span[] {
  const spans: { start: number; end: number }[] = [];
  for (const { start, end } of lists.flat().sort((a, b) => a.start - b.start)) {
    const before = spans.at(-1);
    if (before && start < before.end) before.end = Math.max(before.end, end);
    else spans.push({ start, end });
  }
  return spans;
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
