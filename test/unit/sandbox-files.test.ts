// Proofs for the sandbox as a server: its listing, `list_files`, `write_file`, and what is said of files that are lost.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sandboxListing, sandboxReadTools } from '../../activities/sandbox/server.ts';
import { countTokensSync } from '../../activities/measure.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { callSandboxTool } from '../../activities/sandbox/server.ts';
import { sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

let files: SandboxFiles;
beforeEach(async () => {
  files = await sandboxFiles();
});
afterEach(() => files.remove());

test('the listing has the six tools, all read-only but write_file, with closed schemas', () => {
  const { tools, problems } = sandboxListing();
  expect(problems).toEqual([]);
  expect(tools.map(({ name }) => name)).toEqual([
    'read_file',
    'search_file',
    'infer_schema',
    'query_json',
    'list_files',
    'write_file',
  ]);
  for (const { name, annotations, inputSchema, description } of tools) {
    expect(annotations?.readOnlyHint).toBe(name !== 'write_file');
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(description?.length).toBeLessThan(400);
  }
  expect(countTokensSync(JSON.stringify(tools))).toBeLessThan(1500);
  for (const tool of sandboxReadTools) expect(tools.map(({ name }) => name)).toContain(tool);
});

test('an unknown tool and arguments that do not fit are told with what would fit', async () => {
  const unknown = await files.call('open_file', {});
  expect(unknown).toMatchObject({ isError: true });
  expect(unknown.text).toContain('has no tool "open_file". It has: read_file, search_file');
  const bad = await files.call('search_file', { path: '/sandbox/a' });
  expect(bad.isError).toBe(true);
  expect(bad.text).toContain('The arguments do not fit search_file: pattern: ');
  expect(bad.text).toContain('"required":["path","pattern"]');
});

test('a path that is not there is answered with the nearest known ones', async () => {
  expect((await files.call('read_file', { path: '/sandbox/a.txt' })).text).toContain('This turn has no files yet');
  for (const name of ['report.json', 'reports.csv', 'zebra.txt', 'alpha.md']) await files.add(`/sandbox/${name}`, 'x');
  const answer = await files.call('infer_schema', { path: '/sandbox/raport.json' });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain('The nearest known paths: /sandbox/report.json, /sandbox/reports.csv');
});

test('files are listed by path, each once with its last content, page after page', async () => {
  for (let i = 0; i < 60; i += 1) await files.add(`/sandbox/out/${String(i).padStart(2, '0')}.txt`, `content ${i}`);
  await files.add('/sandbox/out/00.txt', 'the newer content');
  const paths: string[] = [];
  let after = '';
  for (let more = true; more;) {
    const { text } = await files.call('list_files', { prefix: '/sandbox/out/', after }, 600);
    expect(countTokensSync(text)).toBeLessThanOrEqual(600);
    expect(text).toContain('60 of 60 files below /sandbox/out/:');
    paths.push(...[...text.matchAll(/^(\/sandbox\/\S+) {2}/gm)].map((m) => m[1] ?? ''));
    const next = /list_files after "(.*)"\]$/.exec(text)?.[1];
    more = next !== undefined;
    after = next ?? '';
  }
  expect(paths).toEqual(Array.from({ length: 60 }, (_, i) => `/sandbox/out/${String(i).padStart(2, '0')}.txt`));
  const { text } = await files.call('list_files', {});
  expect(text).toContain('/sandbox/out/00.txt  17 bytes  text/plain  by fs/read_text_file (t1/0/0)');
});

test('a written file is stored, and its facts come back', async () => {
  const answer = await files.call('write_file', { path: 'notes/./plan.md', content: '# Größe 👩‍👩‍👧' });
  expect(answer.isError).toBe(false);
  const [written] = answer.written ?? [];
  expect(written).toMatchObject({ path: '/sandbox/notes/plan.md', mediaType: 'text/markdown', bytes: 28 });
  expect(Buffer.from(await files.store.readBlob(written?.sha256 ?? '')).toString()).toBe('# Größe 👩‍👩‍👧');
});

test.each([
  ['/sandbox/tool-results/x.txt', 'holds the results of tools'],
  ['/sandbox/a/../tool-results/x.txt', 'holds the results of tools'],
  ['../../etc/passwd', 'is not below /sandbox/'],
  ['/etc/passwd', 'is not below /sandbox/'],
  ['/sandbox', 'is not below /sandbox/'],
  ['/sandbox/notes/', 'names a folder'],
  ['/sandbox/a\u0000b', 'characters that cannot be in a name'],
  [`/sandbox/${'x'.repeat(201)}`, 'a name of over 200 bytes'],
  ['/sandbox/data.json/x.txt', 'cannot both be'],
])('writing to %j is refused, and nothing is written', async (path, why) => {
  await files.add('/sandbox/data.json', '{}');
  const answer = await files.call('write_file', { path, content: 'x' });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain(why);
  expect(answer.written).toBeUndefined();
});

test('more than 1 MiB is refused with its size', async () => {
  const answer = await files.call('write_file', { path: 'big.txt', content: 'é'.repeat(600_000) });
  expect(answer).toMatchObject({ isError: true });
  expect(answer.text).toContain('1,200,000 bytes; write_file takes at most 1,048,576');
});

const readers = [
  ['read_file', {}],
  ['read_file', { start_line: 1 }],
  ['search_file', { pattern: 'x' }],
  ['infer_schema', {}],
  ['query_json', { query: '$' }],
] as const;

test.each(readers)('%s %j of a file whose content is gone names the file and its hash', async (tool, args) => {
  const { sha256 } = await files.add('/sandbox/gone.json', '{"a":1}', 'application/json');
  await files.store.deleteBlob(sha256);
  const answer = await files.call(tool, { path: '/sandbox/gone.json', ...args });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain(`/sandbox/gone.json is gone from the file store (expected SHA-256 ${sha256}, 7 bytes)`);
  expect(answer.text).toContain('t1/0/0 (fs/read_text_file)');
});

test.each(readers.slice(1))('%s %j of a file that was altered names the file and its hash', async (tool, args) => {
  const { sha256 } = await files.add('/sandbox/altered.json', '{"a":1}', 'application/json');
  await alter(files.folder, '{"a":1}', '{"a":2}');
  const answer = await files.call(tool, { path: '/sandbox/altered.json', ...args });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain(`/sandbox/altered.json is damaged in the file store (expected SHA-256 ${sha256}`);
});

test.each(['StoreUnavailable', 'StoreFull'] as const)('%s is raised, so that it is tried again', async (type) => {
  await files.add('/sandbox/a.json', '{}', 'application/json');
  const failure = new LongshoreError(type, 'the disk went away', 'Bring it back.');
  const fail = (): never => {
    throw failure;
  };
  const store = { ...files.store, readBlob: fail, streamBlob: fail, putBlob: fail };
  for (const [tool, args] of [...readers, ['write_file', { content: 'x' }] as const]) {
    const call = callSandboxTool(tool, { path: '/sandbox/a.json', ...args }, { ...files.context, store });
    await expect(call).rejects.toBe(failure);
  }
});

test('a signal that is aborted already ends every call with its reason', async () => {
  await files.add('/sandbox/a.json', '{}', 'application/json');
  const reason = new Error('cancelled');
  for (const [tool, args] of readers) {
    const call = files.call(tool, { path: '/sandbox/a.json', ...args }, 6000, AbortSignal.abort(reason));
    await expect(call).rejects.toBe(reason);
  }
});

// Changes the one stored blob that has this content.
async function alter(folder: string, from: string, to: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || (await readFile(path, 'utf8')) !== from) continue;
    await rm(path);
    await writeFile(path, to);
  }
}
