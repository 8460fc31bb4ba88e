// Which media type a payload has: the given one where it makes sense, else by its first bytes and its shape.
import type { Shape } from '../../shared/facts.ts';

/** What a given media type says of the payload; parameters such as `charset` are dropped. */
export interface GivenType {
  readonly mediaType: string;
  readonly isJson: boolean;
  readonly isCsv: boolean;
  /** Text by its type: `text/*`, JSON, XML and the like. */
  readonly isText: boolean;
}

interface Signature {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: string;
  /** What else must stand, from byte 8 on. */
  readonly kind?: string;
}

// Bytes as Latin-1. Source: the WHATWG MIME sniffing standard, and RFC 1952 for gzip.
const SIGNATURES: readonly Signature[] = [
  { name: 'png', mediaType: 'image/png', bytes: '\u0089PNG\r\n\u001a\n' },
  { name: 'jpeg', mediaType: 'image/jpeg', bytes: '\u00ff\u00d8\u00ff' },
  { name: 'gif', mediaType: 'image/gif', bytes: 'GIF87a' },
  { name: 'gif', mediaType: 'image/gif', bytes: 'GIF89a' },
  { name: 'webp', mediaType: 'image/webp', bytes: 'RIFF', kind: 'WEBP' },
  { name: 'wav', mediaType: 'audio/wav', bytes: 'RIFF', kind: 'WAVE' },
  { name: 'pdf', mediaType: 'application/pdf', bytes: '%PDF-' },
  { name: 'zip', mediaType: 'application/zip', bytes: 'PK\u0003\u0004' },
  { name: 'gzip', mediaType: 'application/gzip', bytes: '\u001f\u008b\u0008' },
  { name: 'mp3', mediaType: 'audio/mpeg', bytes: 'ID3' },
  { name: 'mp3', mediaType: 'audio/mpeg', bytes: '\u00ff\u00fb' },
  { name: 'mp3', mediaType: 'audio/mpeg', bytes: '\u00ff\u00fa' },
  { name: 'mp3', mediaType: 'audio/mpeg', bytes: '\u00ff\u00f3' },
  { name: 'mp3', mediaType: 'audio/mpeg', bytes: '\u00ff\u00f2' },
];

/** What a text is called when nobody said. What is not valid JSON must not be called that. */
const TYPE_OF_TEXT: Readonly<Record<Exclude<Shape['kind'], 'binary'>, string>> = {
  json: 'application/json',
  'json-lines': 'application/x-ndjson',
  csv: 'text/csv',
  empty: 'text/plain',
  'invalid-json': 'text/plain',
  text: 'text/plain',
};

/** The file format whose signature the payload begins with, or null. Texts may begin so too: ask only of binary data. */
export function signatureOf(bytes: Uint8Array): { readonly name: string; readonly mediaType: string } | null {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  return SIGNATURES.find(({ bytes, kind }) => start.startsWith(bytes) && (!kind || start.startsWith(kind, 8))) ?? null;
}

/** Reads a given media type; null when it is none, or says no more than that these are bytes. */
export function readMediaType(given: string | undefined): GivenType | null {
  const mediaType = given?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType.length > 100 || !/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(mediaType))
    return null;
  if (mediaType === 'application/octet-stream' || mediaType === 'application/unknown') return null;
  const isJson = /[/+]json$/.test(mediaType);
  const isCsv = mediaType === 'text/csv' || mediaType === 'text/tab-separated-values';
  const isText =
    isJson ||
    mediaType.startsWith('text/') ||
    /[/+](xml|yaml|x-yaml|javascript|x-ndjson|jsonl|json-seq|toml|sql)$/.test(mediaType);
  return { mediaType, isJson, isCsv, isText };
}

/**
 * The media type of a payload: a signature wins over a given text type, text wins over a given type of binary data, and a
 * given type wins over what the shape suggests.
 */
export function mediaTypeOf(given: GivenType | null, signature: string | null, shape: Shape): string {
  if (shape.kind === 'binary') {
    if (given && !given.isText && (!signature || given.mediaType.split('/', 1)[0] === signature.split('/', 1)[0])) {
      return given.mediaType;
    }
    return signature ?? 'application/octet-stream';
  }
  if (given && (given.isText || !/^(image|audio|video|font)\//.test(given.mediaType))) return given.mediaType;
  return TYPE_OF_TEXT[shape.kind];
}
