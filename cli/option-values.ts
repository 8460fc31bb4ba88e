// Values of options and arguments that must say something: an empty one is mostly a shell variable that was not set.
import { InvalidArgumentError } from 'commander';

/** The longest id that Temporal takes, in bytes. Source: the server's `limit.maxIDLength`. */
const MAX_ID_BYTES = 1_000;

/** For commander's `argParser`: a text that is not blank. */
export function someValue(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty; if a variable was to fill it, it is not set.');
  return value;
}

/** For commander's `argParser`: a text that is not blank, and not longer than this many characters. */
export function someText(limit: number): (value: string) => string {
  return (value) => {
    const { length } = someValue(value);
    if (length > limit) throw new InvalidArgumentError(`It has ${length} characters; the limit is ${limit}.`);
    return value;
  };
}

/** For commander's `argParser`: an id or the name of a Task Queue, not blank and not longer than Temporal takes. */
export function someId(value: string): string {
  someValue(value);
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_ID_BYTES) {
    throw new InvalidArgumentError(`It has ${bytes} bytes; the limit is ${MAX_ID_BYTES}.`);
  }
  return value;
}

/** For commander's `argParser`: a whole number from 0. */
export function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('It is no whole number from 0.');
  return Number(value);
}

/** For commander's `argParser`: a whole number from 1. */
export function someCount(value: string): number {
  const count = wholeNumber(value);
  if (count === 0) throw new InvalidArgumentError('It is no whole number from 1.');
  return count;
}
