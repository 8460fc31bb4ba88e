// From a tool's answer to facts: measures the payload, stages it when it is larger than its pointer, names its blocks.
import { createHash } from 'node:crypto';
import { blockList, buildBlocksPointer, describeBlocks } from './measure/blocks-pointer.ts';
import { blockLines, buildErrorHead, buildPointer } from './measure/pointer.ts';
import { countTokens, measure } from './measure.ts';
import { extensionOf } from './payload/extension.ts';
import { blockNotes } from './payload/notes.ts';
import type { PickedPayload } from './payload/pick.ts';
import type { CallToolInput } from '../shared/activities.ts';
import { resultPath } from '../shared/call-key.ts';
import { LongshoreError, sentencesOf } from '../shared/errors.ts';
import {
  TOKEN_ESTIMATOR,
  type BlockFacts,
  type FileFacts,
  type Measurement,
  type ResultFacts,
} from '../shared/facts.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import { INLINE_BYTES } from '../shared/placement.ts';

/** Facts without what only the attempt knows. */
export type StagedFacts = Omit<ResultFacts, 'attempts' | 'durationMs'>;

/** Nothing smaller than this can be larger than its pointer, whose text alone is longer. */
const POINTER_LEAST_BYTES = 320;

/** Of a block's name in history. It is cut after secrets are taken out: half a secret at the end would not be found. */
const LABEL_CHARACTERS = 300;

/** How often a refused write is tried again before the result goes on without its file, and how long apart. */
const WRITE_ATTEMPTS = 3;
const WRITE_PAUSE_MS = 500;

/** What one picked payload is staged with. */
export interface StagingInput {
  readonly store: FileStore;
  readonly call: Pick<CallToolInput, 'callKey' | 'tool' | 'perResultTokens' | 'previewCharacters' | 'imageTokens'>;
  readonly payload: PickedPayload;
  readonly redact: (bytes: Uint8Array) => Uint8Array;
}

/**
 * Measures and stages a result. What the store refuses is tried again; if it still fails the facts carry a bounded head and
 * tail that says the rest was not saved, since the call itself must not run twice for it.
 */
export async function stageResult(input: StagingInput): Promise<StagedFacts> {
  const { call, payload } = input;
  const bytes = input.redact(payload.main.bytes);
  // What is this large is staged whatever the measurement says, so that both go on at once.
  const written = bytes.length > INLINE_BYTES ? writeBlob(input.store, bytes) : null;
  written?.catch(() => {});
  const measurement = await measure(bytes, payload.main.mediaType, {
    exactUpToTokens: 2 * call.perResultTokens,
    previewCharacters: call.previewCharacters,
  });
  try {
    const blocks = await stageBlocks(input);
    return await settleFacts(input, { bytes, measurement, blocks, written });
  } catch (error) {
    if (!(error instanceof LongshoreError) || !isStoreError(error)) throw error;
    return unsavedFacts(input, { bytes, measurement, error });
  }
}

interface Measured {
  readonly bytes: Uint8Array;
  readonly measurement: Measurement;
  readonly blocks: readonly BlockFacts[];
  /** The write already under way, for large payloads. */
  readonly written: Promise<BlobRef> | null;
}

async function settleFacts(input: StagingInput, measured: Measured): Promise<StagedFacts> {
  const { call, payload } = input;
  const { bytes, measurement, blocks } = measured;
  const images = payload.main.isText ? blocks.filter((block) => block.kind === 'image') : blocks.filter(isImage);
  const notes = blockNotes(blocks, { imagesShown: true });
  const text = inlineTextOf(bytes, payload, notes);
  const noteTokens = notes === '' ? 0 : (await countTokens(notes)).tokens;
  const tokens = measurement.tokens + noteTokens + images.length * call.imageTokens;
  const facts = { ...baseFacts(input, measurement), tokens, blocks, imageBlocks: images.map((image) => image.block) };
  if (bytes.length < POINTER_LEAST_BYTES && blocks.length === 0) {
    return { ...facts, pointerTokens: tokens, inlineText: text };
  }
  if (bytes.length === 0) return listIfLarger(input, blocks, { facts, text });
  return stageIfLarger(input, measured, { facts, text });
}

async function stageIfLarger(
  input: StagingInput,
  { bytes, measurement, blocks, written }: Measured,
  { facts, text }: { readonly facts: Omit<StagedFacts, 'pointerTokens'>; readonly text: string },
): Promise<StagedFacts> {
  const { call, store } = input;
  const path = pathOf(call, measurement);
  const pointer = await contextPointer(input, { bytes, measurement, blocks, path });
  const may = facts.tokens <= 2 * call.perResultTokens && Buffer.byteLength(text) <= INLINE_BYTES;
  if (facts.tokens <= pointer.tokens) return { ...facts, pointerTokens: pointer.tokens, inlineText: text };
  const { sha256, mediaType } = measurement;
  const file: FileFacts = { path, sha256, bytes: bytes.length, mediaType };
  await (written ?? writeBlob(store, bytes, { sha256, bytes: bytes.length }));
  const inlineBlob = await stageInlineText(store, bytes, text);
  return {
    ...facts,
    file,
    pointer: pointer.text,
    pointerTokens: pointer.tokens,
    ...(inlineBlob && { inlineBlob }),
    ...(may && { inlineText: text }),
  };
}

/** Where all of a result lies in its blocks, the file is the list of them: there is no payload to save. */
async function listIfLarger(
  { call, store, payload }: StagingInput,
  blocks: readonly BlockFacts[],
  { facts, text }: { readonly facts: Omit<StagedFacts, 'pointerTokens'>; readonly text: string },
): Promise<StagedFacts> {
  const list = blockList(blocks);
  const sha256 = createHash('sha256').update(list).digest('hex');
  const path = resultPath({ callKey: call.callKey, tool: call.tool, sha256, extension: 'json' });
  const pointer = await buildBlocksPointer({ path, tool: call.tool, isError: payload.isError, blocks });
  if (facts.tokens <= pointer.tokens) return { ...facts, pointerTokens: pointer.tokens, inlineText: text };
  await writeBlob(store, list, { sha256, bytes: list.length });
  const file: FileFacts = { path, sha256, bytes: list.length, mediaType: 'application/json' };
  const inlineBlob = await writeBlob(store, Buffer.from(text));
  return { ...facts, file, pointer: pointer.text, pointerTokens: pointer.tokens, inlineBlob };
}

/** The text in context is a blob of its own where notes stand beside the payload. */
async function stageInlineText(
  store: FileStore,
  bytes: Uint8Array,
  text: string,
): Promise<ResultFacts['inlineBlob'] | null> {
  if (bytes.length > INLINE_BYTES) return null;
  const inline = Buffer.from(text);
  if (inline.equals(bytes)) return null;
  return writeBlob(store, inline);
}

async function contextPointer(
  input: StagingInput,
  { bytes, measurement, blocks, path }: Omit<Measured, 'written'> & { readonly path: string },
): Promise<{ readonly text: string; readonly tokens: number }> {
  const { call, payload } = input;
  if (payload.isError && payload.main.isText) {
    const head = buildErrorHead(Buffer.from(bytes).toString('utf8'), path, measurement.tokens);
    const text = [head, ...errorBlockLines(blocks)].join('\n');
    return { text, tokens: (await countTokens(text)).tokens };
  }
  return buildPointer({ path, tool: call.tool, isError: payload.isError, measurement, blocks });
}

/** What an error brings beside its words, in short. */
function errorBlockLines(blocks: readonly BlockFacts[]): readonly string[] {
  if (blocks.length === 0) return [];
  return [`[With it came ${describeBlocks(blocks)}]`, ...blockLines(blocks, 3)];
}

async function stageBlocks({ store, call, payload, redact }: StagingInput): Promise<readonly BlockFacts[]> {
  const blocks: BlockFacts[] = [];
  for (const [index, block] of payload.blocks.entries()) {
    const bytes = redact(block.bytes);
    const { sha256 } = await writeBlob(store, bytes);
    const number = index + 1;
    const { extension, mediaType, kind, label } = block;
    const path = resultPath({ callKey: call.callKey, tool: call.tool, sha256, extension, block: number });
    blocks.push({
      path,
      sha256,
      bytes: bytes.length,
      mediaType,
      block: number,
      kind,
      ...(label !== undefined && { label: shortLabel(redactText(label, redact)) }),
    });
  }
  return blocks;
}

function shortLabel(label: string): string {
  return label.length <= LABEL_CHARACTERS ? label : `${label.slice(0, LABEL_CHARACTERS - 1).toWellFormed()}…`;
}

/** Names and addresses of blocks stand in context and history as payloads do. */
function redactText(text: string, redact: StagingInput['redact']): string {
  return Buffer.from(redact(Buffer.from(text))).toString('utf8');
}

/** Content-addressed writes may be repeated at will; only the store's own errors are. */
async function writeBlob(
  store: FileStore,
  bytes: Uint8Array,
  expected?: { readonly sha256: string; readonly bytes: number },
): ReturnType<FileStore['putBlob']> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.putBlob(bytes, expected);
    } catch (error) {
      if (attempt >= WRITE_ATTEMPTS || !(error instanceof LongshoreError) || !isStoreError(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, WRITE_PAUSE_MS * attempt));
    }
  }
}

const STORE_ERRORS: ReadonlySet<string> = new Set([
  'StoreFull',
  'StoreUnavailable',
  'StoreDenied',
  'StoreMisconfigured',
  'BlobCorrupt',
]);

function isStoreError(error: LongshoreError): boolean {
  return STORE_ERRORS.has(error.type);
}

async function unsavedFacts(
  input: StagingInput,
  { bytes, measurement, error }: { bytes: Uint8Array; measurement: Measurement; error: LongshoreError },
): Promise<StagedFacts> {
  const whole = Buffer.from(bytes).toString('utf8');
  const fits = bytes.length <= INLINE_BYTES / 8 && input.payload.blocks.length === 0;
  const head = fits ? whole : boundedEnds(whole, input.payload.blocks.length);
  const text = fits ? whole : `${head}\n[${sentencesOf(error)}]`;
  const { tokens: excerptTokens } = await countTokens(text);
  return {
    ...baseFacts(input, measurement),
    tokens: measurement.tokens,
    excerptTokens,
    pointerTokens: excerptTokens,
    inlineText: text,
    blocks: [],
    imageBlocks: [],
    note: { unsaved: error.type },
  };
}

function boundedEnds(text: string, blocks: number): string {
  const ends = text.length <= 4_000 ? text : `${text.slice(0, 2_000)}\n[…]\n${text.slice(-2_000)}`;
  const lost = blocks > 0 ? ` and ${blocks} further content blocks` : '';
  return `${ends.toWellFormed()}\n[The rest of this result${lost} could not be saved and is not available:]`;
}

function baseFacts(
  input: StagingInput,
  measurement: Measurement,
): Pick<StagedFacts, 'callKey' | 'outcome' | 'bytes' | 'sha256' | 'mediaType' | 'tokensAreExact' | 'estimator'> {
  const { bytes, sha256, mediaType, tokensAreExact } = measurement;
  const outcome = input.payload.isError ? 'error' : 'ok';
  return { callKey: input.call.callKey, outcome, bytes, sha256, mediaType, tokensAreExact, estimator: TOKEN_ESTIMATOR };
}

function inlineTextOf(bytes: Uint8Array, payload: PickedPayload, notes: string): string {
  if (bytes.length > INLINE_BYTES) return '';
  const own = bytes.length === 0 && notes === '' ? '(empty result)' : textOf(bytes, payload);
  return [own, notes].filter((part) => part !== '').join('\n');
}

function textOf(bytes: Uint8Array, payload: PickedPayload): string {
  return payload.main.isText ? Buffer.from(bytes).toString('utf8') : `(binary data, ${bytes.length} bytes)`;
}

function isImage(block: BlockFacts): boolean {
  return block.kind === 'image' || block.mediaType.startsWith('image/');
}

function pathOf(call: StagingInput['call'], measurement: Measurement): string {
  const extension = extensionOf(measurement.mediaType);
  return resultPath({ callKey: call.callKey, tool: call.tool, sha256: measurement.sha256, extension });
}
