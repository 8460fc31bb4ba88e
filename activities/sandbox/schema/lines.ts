// Counts the lines of plain text as a stream.

/** What stands in plain text. A last line without a line break counts. */
export interface TextReading {
  readonly bytes: number;
  readonly lines: number;
  /** In bytes, without the line break. */
  readonly longestLine: number;
  /** Whether the bytes are UTF-8 throughout. */
  readonly utf8: boolean;
}

/** Reads to the end. */
export async function readLines(stream: AsyncIterable<Uint8Array>): Promise<TextReading> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let lines = 0;
  let longestLine = 0;
  let lineStart = 0;
  let utf8 = true;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) {
      lines += 1;
      longestLine = Math.max(longestLine, bytes + at - lineStart);
      lineStart = bytes + at + 1;
    }
    bytes += part.length;
    utf8 &&= decodes(decoder, part);
  }
  if (lineStart < bytes) lines += 1;
  return { bytes, lines, longestLine: Math.max(longestLine, bytes - lineStart), utf8: utf8 && decodes(decoder) };
}

function decodes(decoder: InstanceType<typeof TextDecoder>, part?: Uint8Array): boolean {
  try {
    decoder.decode(part, { stream: part !== undefined });
    return true;
  } catch (thrown) {
    if (thrown instanceof TypeError) return false;
    throw thrown;
  }
}
