// Frees the text of a large message at once. V8 collects lazily while its heap may grow: without this the text, the value
// parsed from it and the payload made of that stand in memory together (a result of 50 MB: 50 MB more at the highest).
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Up to this size a message costs less than the collection, which takes about as long as parsing 10 MB. */
const LARGE_BYTES = 16 * 1024 * 1024;

let collect: (() => void) | undefined;

/** To be called when a message of so many bytes was parsed and its text let go; does nothing for small ones. */
export function collectAfter(messageBytes: number): void {
  if (messageBytes < LARGE_BYTES) return;
  collect ??= collector();
  collect();
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  // V8 gives the function to contexts made while the flag is set.
  const gc = runInNewContext('gc') as unknown;
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function' ? () => void gc() : () => {};
}
