// Reads JSON, one value or several, as a stream: a verifier finds the exact place of a fault, a parser gives the tokens
// up to there. Both are stream-json's, and both are fed with the same slices.
import { none, type Many } from 'stream-chain/core';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { jsonVerifier } from 'stream-json/core/utils/verifier.js';
import { SchemaBuilder } from './build.ts';
import { PointerFilter } from './pointer.ts';

/** Where JSON breaks: byte offset from 0, line from 1. */
export interface JsonFault {
  readonly offset: number;
  readonly line: number;
  readonly problem: string;
}

/** What stands in a stream of JSON. */
export interface JsonReading {
  readonly builder: SchemaBuilder;
  readonly fault: JsonFault | null;
  readonly bytes: number;
}

type Stage = (text: string | typeof none) => unknown;

/** The parser gives all tokens of a slice at once, so that a small one keeps memory low. */
const SLICE_BYTES = 8 * 1024;

const TAIL_CHARACTERS = 64;

const STREAMING = { jsonStreaming: true };
// Keys, strings and numbers in pieces: one of them may be as large as the file.
const TOKENS = { ...STREAMING, packValues: false, streamValues: true };

/** Reads the bytes to their end or to the first fault. `pointer` is a JSON Pointer (RFC 6901), empty for the whole. */
export async function readJson(bytes: AsyncIterable<Uint8Array>, pointer: string): Promise<JsonReading> {
  const reader = new JsonReader(pointer);
  for await (const chunk of bytes) {
    reader.push(chunk);
    if (reader.fault) break;
  }
  reader.finish();
  return { builder: reader.builder, fault: reader.fault, bytes: reader.bytes };
}

class JsonReader {
  readonly builder = new SchemaBuilder();
  fault: JsonFault | null = null;
  bytes = 0;
  // Their types leave out what they are made for: `none` tells them that the text has ended.
  readonly #verify = jsonVerifier(STREAMING) as Stage;
  readonly #parse = jsonParser(TOKENS) as Stage;
  readonly #filter: PointerFilter;
  readonly #decoder = new TextDecoder('utf-8');
  // Characters and bytes of the text before the slice at hand, and its last characters, to turn the verifier's
  // characters into bytes: it may look a few characters ahead before it finds a fault.
  #characters = 0;
  #bytesBefore = 0;
  #tail = '';

  constructor(pointer: string) {
    this.#filter = new PointerFilter(pointer);
  }

  push(chunk: Uint8Array): void {
    if (this.bytes === 0 && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) this.#bytesBefore = 3;
    this.bytes += chunk.length;
    for (let at = 0; at < chunk.length && !this.fault; at += SLICE_BYTES) {
      this.#slice(this.#decoder.decode(chunk.subarray(at, at + SLICE_BYTES), { stream: true }));
    }
  }

  finish(): void {
    if (!this.fault) this.#slice(this.#decoder.decode());
    if (!this.fault) this.#verifySlice('', () => this.#verify(none));
    if (!this.fault) this.#take(this.#parse(none));
    this.builder.finish();
  }

  #slice(text: string): void {
    if (text === '') return;
    const sound = this.#verifySlice(text, () => this.#verify(text));
    this.#take(this.#parse(sound));
    this.#characters += text.length;
    this.#bytesBefore += Buffer.byteLength(text);
    this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
  }

  // Gives the part of the slice that is sound: the whole, or what stands before the fault.
  #verifySlice(text: string, verify: () => unknown): string {
    try {
      verify();
      return text;
    } catch (thrown) {
      if (!isVerifierError(thrown)) throw thrown;
      const known = this.#tail + text;
      const at = Math.max(0, thrown.offset - (this.#characters - this.#tail.length));
      const behind = Buffer.byteLength(known.slice(at)) - Buffer.byteLength(text);
      const offset = Math.min(this.bytes, this.#bytesBefore - behind);
      const sound = text.slice(0, Math.max(0, at - this.#tail.length));
      this.fault = { offset, line: thrown.line, problem: problemOf(thrown.message) };
      return sound;
    }
  }

  #take(tokens: unknown): void {
    for (const token of valuesOf(tokens)) if (this.#filter.takes(token)) this.builder.add(token);
  }
}

// stream-chain's answers: one token, several in an envelope, or a symbol for none.
function valuesOf(answer: unknown): readonly Token[] {
  if (typeof answer !== 'object' || answer === null) return [];
  // The functions above give tokens and nothing else.
  return 'values' in answer ? (answer as Many<Token>).values : [answer as Token];
}

function isVerifierError(thrown: unknown): thrown is Error & { offset: number; line: number } {
  return thrown instanceof Error && 'offset' in thrown && typeof thrown.offset === 'number' && 'line' in thrown;
}

function problemOf(message: string): string {
  return message
    .replace(/^ERROR at \d+ \(\d+, \d+\): /, '')
    .replace(/^Verifier (cannot parse input|has expected): ?/, '');
}
