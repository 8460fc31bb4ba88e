// Frees what reading a large message leaves behind. V8 collects lazily while its heap may grow: without this, the chunks that
// were copied out of a socket, and the text of what had to be parsed as a whole, stand in memory beside the message.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Up to this size a text costs less than the collection, which takes about as long as parsing 10 MB. */
const LARGE_BYTES = 16 * 1024 * 1024;

type Collect = (options?: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;

/** To be called when a text of so many bytes was parsed and let go; does nothing for small ones. */
export function collectAfter(textBytes: number): void {
  if (textBytes < LARGE_BYTES) return;
  collect ??= collector();
  collect();
}

/** Frees what was made a moment ago and is used no more, in about a millisecond. */
export function collectRecent(): void {
  collect ??= collector();
  collect({ type: 'minor' });
}

function collector(): Collect {
  setFlagsFromString('--expose-gc');
  // V8 gives the function to contexts made while the flag is set.
  const gc = runInNewContext('gc') as unknown;
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function' ? (options) => void gc(options) : () => {};
}
