// Reads JSON byte by byte without building it, telling a listener what it finds and where it stops being valid. `JSON.parse`
// cannot serve: its message often has no position, never one in bytes, and quotes the payload.
// Source of the grammar: RFC 8259.

/** What a scan tells. Ranges are byte offsets, `to` exclusive; strings and keys include their quotation marks. */
export interface JsonListener {
  open(kind: 'object' | 'array'): void;
  close(): void;
  key(from: number, to: number): void;
  scalar(kind: ScalarKind, from: number, to: number): void;
}

/** Kinds of values that hold no others. */
export type ScalarKind = 'string' | 'number' | 'boolean' | 'null';

/** Where one value ended, or where it broke: at which byte and how. `isCut`: it was valid as far as the bytes went. */
export type JsonScan =
  | { readonly end: number }
  | { readonly offset: number; readonly problem: string; readonly isCut: boolean };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Scans one value that begins at `from`, blanks before it allowed. */
export function scanJson(bytes: Uint8Array, from: number, listener: JsonListener): JsonScan {
  return new Scanner(bytes, listener).run(from);
}

/** The first byte at or after `at` that is no JSON blank, or the length. */
export function skipBlanks(bytes: Uint8Array, at: number): number {
  let next = at;
  while (next < bytes.length && isBlank(bytes[next] ?? 0)) next++;
  return next;
}

class Fault extends Error {
  readonly offset: number;
  readonly isCut: boolean;

  constructor(offset: number, problem: string, isCut: boolean) {
    super(problem);
    this.offset = offset;
    this.isCut = isCut;
  }
}

class Scanner {
  private readonly bytes: Uint8Array;
  private readonly listener: JsonListener;
  /** The closing bytes of all open containers. */
  private readonly open: number[] = [];

  constructor(bytes: Uint8Array, listener: JsonListener) {
    this.bytes = bytes;
    this.listener = listener;
  }

  run(from: number): JsonScan {
    try {
      let at = this.value(from);
      while (this.open.length > 0) at = this.afterValue(at);
      return { end: at };
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return { offset: fault.offset, problem: fault.message, isCut: fault.isCut };
    }
  }

  /** Reads a scalar, or opens containers down to the first scalar or empty container. */
  private value(from: number): number {
    let at = skipBlanks(this.bytes, from);
    for (;;) {
      const byte = this.bytes[at];
      if (byte !== OPEN_ARRAY && byte !== OPEN_OBJECT) return this.scalar(at);
      const isArray = byte === OPEN_ARRAY;
      const closing = isArray ? CLOSE_ARRAY : CLOSE_OBJECT;
      this.listener.open(isArray ? 'array' : 'object');
      this.open.push(closing);
      at = skipBlanks(this.bytes, at + 1);
      if (this.bytes[at] === closing) return this.closeAt(at);
      if (!isArray) at = this.member(at, 'a key or }');
    }
  }

  /** After a value within a container: a comma and the next value, or its end. */
  private afterValue(from: number): number {
    const at = skipBlanks(this.bytes, from);
    const closing = this.open.at(-1);
    const byte = this.bytes[at];
    if (byte === closing) return this.closeAt(at);
    if (byte !== COMMA) throw this.expected(at, closing === CLOSE_ARRAY ? 'a comma or ]' : 'a comma or }');
    if (closing === CLOSE_ARRAY) return this.value(at + 1);
    return this.value(this.member(skipBlanks(this.bytes, at + 1), 'a key'));
  }

  private closeAt(at: number): number {
    this.open.pop();
    this.listener.close();
    return at + 1;
  }

  /** A key and its colon; gives where the value may begin. */
  private member(at: number, wanted: string): number {
    if (this.bytes[at] !== QUOTE) throw this.expected(at, wanted);
    const end = this.string(at);
    this.listener.key(at, end);
    const colon = skipBlanks(this.bytes, end);
    if (this.bytes[colon] !== COLON) throw this.expected(colon, 'a colon');
    return skipBlanks(this.bytes, colon + 1);
  }

  private scalar(at: number): number {
    const byte = this.bytes[at];
    if (byte === QUOTE) return this.report('string', at, this.string(at));
    if (byte === 0x2d || isDigit(byte)) return this.report('number', at, this.number(at));
    if (byte === 0x74) return this.report('boolean', at, this.literal(at, 'true'));
    if (byte === 0x66) return this.report('boolean', at, this.literal(at, 'false'));
    if (byte === 0x6e) return this.report('null', at, this.literal(at, 'null'));
    throw this.expected(at, 'a value');
  }

  private report(kind: ScalarKind, from: number, to: number): number {
    this.listener.scalar(kind, from, to);
    return to;
  }

  private string(from: number): number {
    const { bytes } = this;
    for (let at = from + 1; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) return at + 1;
      if (byte < 0x20) throw new Fault(at, 'a raw control character in a string', false);
      if (byte === BACKSLASH) at = this.escape(at);
    }
    throw new Fault(bytes.length, 'ends within a string', true);
  }

  /** Gives the last byte of an escape. */
  private escape(at: number): number {
    const byte = this.bytes[at + 1];
    if (byte === undefined) throw new Fault(this.bytes.length, 'ends within a string', true);
    if (byte !== 0x75) {
      if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) return at + 1;
      throw new Fault(at, 'an unknown escape in a string', false);
    }
    for (let i = 2; i < 6; i++) {
      const digit = this.bytes[at + i];
      if (digit === undefined) throw new Fault(this.bytes.length, 'ends within a string', true);
      if (!/[0-9A-Fa-f]/.test(String.fromCharCode(digit))) throw new Fault(at, 'an unknown escape in a string', false);
    }
    return at + 5;
  }

  private number(from: number): number {
    let at = this.bytes[from] === 0x2d ? from + 1 : from;
    if (this.bytes[at] === 0x30) at++;
    else at = this.digits(at);
    if (this.bytes[at] === 0x2e) at = this.digits(at + 1);
    if (((this.bytes[at] ?? 0) | 0x20) === 0x65) {
      const sign = this.bytes[at + 1];
      at = this.digits(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
    }
    return at;
  }

  private digits(from: number): number {
    let at = from;
    while (isDigit(this.bytes[at])) at++;
    if (at === from) throw this.expected(at, 'a digit');
    return at;
  }

  private literal(from: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[from + i] !== word.charCodeAt(i)) throw this.expected(from + i, word);
    }
    return from + word.length;
  }

  private expected(at: number, wanted: string): Fault {
    const byte = this.bytes[at];
    if (byte === undefined) return new Fault(this.bytes.length, `ends where ${wanted} should be`, true);
    const found = byte > 0x20 && byte < 0x7f ? ` but found ${String.fromCharCode(byte)}` : '';
    return new Fault(at, `expected ${wanted}${found}`, false);
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
