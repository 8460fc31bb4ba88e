// From a tool's answer to facts: results without text, errors with blocks, results that the store has no room for.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeMeasure, countTokensSync } from '../../activities/measure.ts';
import { POINTER_TOKENS } from '../../activities/measure/pointer.ts';
import { pickPayload } from '../../activities/payload/pick.ts';
import { stageResult, type StagedFacts } from '../../activities/staging.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { progressPrinter } from '../../cli/progress.ts';
import type { ProposedCall } from '../../shared/activities.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { JsonValue } from '../../shared/json.ts';
import { decidePlacement } from '../../shared/placement.ts';
import { commitResult, placementFactsOf } from '../../shared/results.ts';

let folder: string;
let store: FileStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-staging-'));
  store = createLocalStore({ folder, namespace: 'default' });
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(closeMeasure);

const tool = { callKey: 't1/0/0', tool: 'shots', perResultTokens: 6_000, previewCharacters: 100, imageTokens: 1_000 };
const image = (text: string): JsonValue => ({
  type: 'image',
  mimeType: 'image/png',
  data: Buffer.from(text).toString('base64'),
});
const stage = (content: readonly JsonValue[], more: object = {}, into: FileStore = store): Promise<StagedFacts> =>
  stageResult({ store: into, call: tool, payload: pickPayload({ content, ...more }), redact: (bytes) => bytes });
const settled = (facts: StagedFacts) => {
  const call: ProposedCall = {
    callKey: tool.callKey,
    callId: 'c',
    name: 'desk__shots',
    server: 'desk',
    tool: 'shots',
    arguments: {},
    argumentsDigest: '',
    schemaHash: '',
    tags: [],
    effect: 'read',
  };
  return { call, result: { facts: { ...facts, attempts: 1, durationMs: 1 } } };
};
const limits = { perResult: 6_000, perStep: 12_000 };
const placed = (facts: StagedFacts) => {
  const [decision] = decidePlacement([placementFactsOf(settled(facts), { enabled: true, perResult: 6_000 })], limits);
  return commitResult(settled(facts), decision ?? { placement: 'inline', rule: 'fits' });
};

describe('a result whose whole lies in its blocks', () => {
  it.each([
    ['result', {}],
    ['error', { isError: true }],
  ])('points, as %s, to a list that names every block, and no file is empty', async (word, more) => {
    const facts = await stage(
      Array.from({ length: 300 }, (_, index) => image(`picture ${index}`)),
      more,
    );
    const { pointer = '', file } = facts;
    expect(pointer).toContain(`Large ${word} of shots`);
    expect(pointer).toContain('300 content blocks (300 image)');
    expect(pointer).toContain(`path: ${file?.path}`);
    expect(pointer).toContain(facts.blocks[0]?.path);
    expect(pointer).not.toMatch(/\b0 bytes/);
    const list: unknown = JSON.parse(Buffer.from(await store.readBlob(file?.sha256 ?? '')).toString());
    expect(list).toEqual(facts.blocks);
    for await (const blob of store.listBlobs()) expect(blob.bytes).toBeGreaterThan(0);
    expect(placed(facts)).toMatchObject({ placement: 'file', context: { text: pointer } });
  });

  it('always has a pointer of at most 300 tokens that counts its blocks, whatever they are called', async () => {
    const link = fc
      .string({ unit: 'binary', maxLength: 400 })
      .map((uri): JsonValue => ({ type: 'resource_link', uri, name: uri }));
    await fc.assert(
      fc.asyncProperty(fc.array(link, { minLength: 1, maxLength: 40 }), fc.boolean(), async (links, isError) => {
        const facts = await stage(links, { isError });
        if (facts.pointer === undefined) return;
        expect(countTokensSync(facts.pointer)).toBe(facts.pointerTokens);
        expect(facts.pointerTokens).toBeLessThanOrEqual(POINTER_TOKENS);
        expect(facts.pointer).toContain(`holds: ${links.length} content block`);
      }),
      { numRuns: 25 },
    );
  });

  it('never shows a part of a secret where the name of a block is cut', async () => {
    const secret = 'hush-hush-hush-hush';
    const redact = (bytes: Uint8Array): Uint8Array =>
      Buffer.from(Buffer.from(bytes).toString('utf8').replaceAll(secret, '[redacted]'));
    const links = Array.from({ length: 30 }, (_, index): JsonValue => {
      return { type: 'resource_link', uri: `${'x'.repeat(275 + index)}${secret} and more`, name: 'n' };
    });
    const facts = await stageResult({ store, call: tool, payload: pickPayload({ content: links }), redact });
    expect(JSON.stringify(facts)).not.toContain('hus');
    for (const { label = '' } of facts.blocks) expect(label.length).toBeLessThanOrEqual(300);
  });

  it('stands inline while that is small, without a file', async () => {
    const facts = await stage([{ type: 'resource_link', uri: 'a:b', name: 'b' }]);
    expect(facts.file).toBeUndefined();
    expect(facts.inlineText).toContain(facts.blocks[0]?.path);
  });
});

describe('an error with words and many images', () => {
  it('points to its words and says what came with them', async () => {
    const images = Array.from({ length: 40 }, (_, index) => image(`picture ${index}`));
    const facts = await stage([{ type: 'text', text: 'It broke.' }, ...images], { isError: true });
    expect(facts.pointer).toContain('It broke.');
    expect(facts.pointer).toContain('40 content blocks (40 image)');
    expect(facts.pointer).toContain(facts.blocks[0]?.path);
  });
});

describe('a pointer', () => {
  it.each([
    ['検索する', '検索する'],
    ['🔎🔎', '🔎🔎'],
    ['a "b" c', "a 'b' c"],
  ])('names the tool %s readably', async (name, shown) => {
    const payload = pickPayload({ content: [{ type: 'text', text: 'word '.repeat(20_000) }] });
    const facts = await stageResult({ store, call: { ...tool, tool: name }, payload, redact: (bytes) => bytes });
    expect(facts.pointer).toContain(`Large result of the tool "${shown}"`);
  });
});

describe('a result that the store has no room for', () => {
  const full = (): FileStore => ({
    ...store,
    putBlob: async () => {
      throw new LongshoreError('StoreFull', 'No room.', 'Make room.');
    },
  });
  const text = 'word '.repeat(50_000);

  it('counts the whole for the record and the excerpt for the context, and says so', async () => {
    const facts = await stage([{ type: 'text', text }], {}, full());
    expect(facts).toMatchObject({ bytes: 250_000, note: { unsaved: 'StoreFull' } });
    expect(facts.tokens).toBeGreaterThan(40_000);
    const excerpt = countTokensSync(facts.inlineText ?? '');
    expect(facts.excerptTokens).toBe(excerpt);
    expect(placed(facts)).toMatchObject({ placement: 'inline', rule: 'fits', tokens: excerpt });
    const lines: string[] = [];
    const print = progressPrinter({
      line: (line) => lines.push(line),
      live: () => {},
      paint: (_style, words) => words,
    });
    const call = { ...settled(facts), proposed: settled(facts).call, facts: settled(facts).result.facts, earlier: [] };
    print({ type: 'call-ended', call }, { steps: [], asked: { waiting: () => [] } } as never);
    expect(lines.join('\n')).toContain('NOT SAVED: StoreFull');
  });
});
