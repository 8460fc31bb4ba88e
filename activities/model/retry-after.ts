// How long a provider asks to wait, from the headers and words that providers use for it.

/** No wait is longer; what asks for more is asked again after this. */
export const LONGEST_WAIT_MS = 3_600_000;

/** Lower-case header names to values. */
export type Headers = Readonly<Record<string, string | undefined>>;

/**
 * The wait in milliseconds, between 0 and one hour, or undefined if none is asked for. Read in this order:
 * `retry-after-ms`, `retry-after` (seconds or an HTTP date), `x-ratelimit-reset-requests` and `-tokens` of whatever is
 * used up, `x-ratelimit-reset` (seconds, or a time in seconds or milliseconds), and "try again in 1.5s" in the message.
 */
export function retryAfterMs(headers: Headers, message: string, now: number = Date.now()): number | undefined {
  const wait =
    milliseconds(headers['retry-after-ms']) ??
    secondsOrDate(headers['retry-after'], now) ??
    usedUpReset(headers) ??
    resetTime(headers['x-ratelimit-reset'], now) ??
    duration(/try again in ((?:[\d.]+\s*(?:ms|[dhms])\s*)+)/i.exec(message)?.[1]);
  return wait === undefined ? undefined : Math.min(LONGEST_WAIT_MS, Math.max(0, Math.ceil(wait)));
}

function milliseconds(value: string | undefined): number | undefined {
  return isNumber(value) ? Number(value) : undefined;
}

function secondsOrDate(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (isNumber(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : at - now;
}

/** Of requests and tokens, only what is used up makes one wait; if no count is given, the longer one. */
function usedUpReset(headers: Headers): number | undefined {
  const kinds = ['requests', 'tokens'];
  const known = kinds.filter((kind) => headers[`x-ratelimit-remaining-${kind}`] !== undefined);
  const usedUp = known.filter((kind) => Number(headers[`x-ratelimit-remaining-${kind}`]) === 0);
  const waits = (known.length > 0 ? usedUp : kinds)
    .map((kind) => duration(headers[`x-ratelimit-reset-${kind}`]))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** Seconds from now, or a point in time in seconds or milliseconds since 1970: told apart by their size. */
function resetTime(value: string | undefined, now: number): number | undefined {
  if (!isNumber(value)) return duration(value);
  const number = Number(value);
  if (number > 1e11) return number - now;
  return number > 1e8 ? number * 1000 - now : number * 1000;
}

/** Reads `6m0s`, `20ms`, `1.5s`, `1h2m`; a bare number counts seconds. */
function duration(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (isNumber(value)) return Number(value) * 1000;
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  let sum: number | undefined;
  for (const [, number, unit] of value.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[dhms])/g)) {
    sum = (sum ?? 0) + Number(number) * (units[unit ?? 's'] ?? 0);
  }
  return sum;
}

function isNumber(value: string | undefined): boolean {
  return value !== undefined && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
}
