// Real MCP servers over stdio, and what is picked out of their real results.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createMcpPool, type McpPool } from '../../activities/mcp/pool.ts';
import { pickPayload } from '../../activities/payload/pick.ts';
import { call, firstText, packagedFile, packagedServer } from '../support/mcp-pools.ts';

const caniuse = packagedFile('caniuse-db/data.json');
let folder = '';
let pool: McpPool;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'mcp-real-')));
  const servers = {
    fs: packagedServer('@modelcontextprotocol/server-filesystem/dist/index.js', [folder, dirname(caniuse)]),
    everything: packagedServer('@modelcontextprotocol/server-everything/dist/index.js', ['stdio']),
    memory: {
      ...packagedServer('@modelcontextprotocol/server-memory/dist/index.js'),
      env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
    },
    calc: packagedServer('@coo-quack/calc-mcp/dist/index.js'),
  };
  pool = createMcpPool({ config: { source: 'mcp.json', servers }, log: () => {} });
});

afterAll(async () => {
  await pool.close();
  await rm(folder, { recursive: true, force: true });
});

const list = (server: string) => pool.server(server).listTools(AbortSignal.timeout(30_000));
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('every server', () => {
  it.each([
    ['fs', 14, 'read_text_file'],
    ['everything', 14, 'get-tiny-image'],
    ['memory', 9, 'read_graph'],
    ['calc', 21, 'base64'],
  ])('%s lists its tools, all of them usable', async (server, count, known) => {
    const { tools, problems } = await list(server);
    expect(tools).toHaveLength(count);
    expect(tools.map((tool) => tool.name)).toContain(known);
    expect(problems).toEqual([]);
  });
});

describe('server-filesystem', () => {
  it('gives a file of 4.7 MB, sent twice in one message of over 10 MB, byte for byte (srv-3, view-7)', async () => {
    const bytes = await readFile(caniuse);
    expect(bytes.length).toBeGreaterThan(4_700_000);
    const { main, blocks } = pickPayload(await call(pool, ['fs', 'read_text_file'], { path: caniuse }));
    expect(main.bytes.length).toBe(bytes.length);
    expect(sha256(main.bytes)).toBe(sha256(bytes));
    expect(blocks).toEqual([]);
  });

  it('gives an empty file as empty', async () => {
    const path = join(folder, 'empty.txt');
    await writeFile(path, '');
    const { main, blocks } = pickPayload(await call(pool, ['fs', 'read_text_file'], { path }));
    expect(main.bytes).toHaveLength(0);
    expect(blocks).toEqual([]);
  });

  it.each([
    ['picture.png', 'image', 'image/png', 'png'],
    ['sound.wav', 'audio', 'audio/wav', 'wav'],
    ['data.parquet', 'resource', 'application/octet-stream', 'parquet'],
  ])('gives %s as its bytes, once', async (name, kind, mediaType, extension) => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]);
    const path = join(folder, name);
    await writeFile(path, bytes);
    const { main, blocks } = pickPayload(await call(pool, ['fs', 'read_media_file'], { path }));
    expect(main.bytes).toHaveLength(0);
    expect(blocks).toMatchObject([{ kind, mediaType, extension }]);
    expect(Buffer.from(blocks[0]?.bytes ?? [])).toEqual(bytes);
  });

  it('gives what it refuses as an error', async () => {
    const picked = pickPayload(await call(pool, ['fs', 'read_text_file'], { path: '/etc/passwd' }));
    expect(picked.isError).toBe(true);
    expect(Buffer.from(picked.main.bytes).toString()).toContain('outside allowed directories');
  });

  it('answers several calls at once', async () => {
    const paths = ['a', 'b', 'c', 'd'].map((name) => join(folder, `${name}.txt`));
    await Promise.all(paths.map((path) => writeFile(path, path)));
    const texts = await Promise.all(
      paths.map(async (path) => firstText(await call(pool, ['fs', 'read_text_file'], { path }))),
    );
    expect(texts).toEqual(paths);
  });
});

describe('server-everything', () => {
  it('gives an image between two texts', async () => {
    const { main, blocks } = pickPayload(await call(pool, ['everything', 'get-tiny-image']));
    expect(Buffer.from(main.bytes).toString()).toMatch(/\n/);
    expect(blocks).toMatchObject([{ kind: 'image', mediaType: 'image/png' }]);
    expect(
      Buffer.from(blocks[0]?.bytes ?? [])
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });

  it('gives structured content and its text as one JSON payload', async () => {
    const response = await call(pool, ['everything', 'get-structured-content'], { location: 'Chicago' });
    const { main, blocks } = pickPayload(response);
    expect(JSON.parse(Buffer.from(main.bytes).toString())).toEqual(response.structuredContent);
    expect(main.mediaType).toBe('application/json');
    expect(blocks).toEqual([]);
  });

  it.each(['Text', 'Blob'])('gives an embedded resource as a block of its own: %s', async (resourceType) => {
    const args = { resourceType, resourceId: 1 };
    const { main, blocks } = pickPayload(await call(pool, ['everything', 'get-resource-reference'], args));
    expect(main.bytes.length).toBeGreaterThan(0);
    expect(blocks).toMatchObject([{ kind: 'resource', label: expect.stringContaining('://') }]);
  });

  it('gives links to resources', async () => {
    const { blocks } = pickPayload(await call(pool, ['everything', 'get-resource-links'], { count: 3 }));
    expect(blocks.map((block) => block.kind)).toEqual(['resource-link', 'resource-link', 'resource-link']);
  });

  it('tells its progress', async () => {
    let signs = 0;
    const args = { duration: 0.4, steps: 4 };
    const onProgress = (): void => {
      signs += 1;
    };
    const response = await call(pool, ['everything', 'trigger-long-running-operation'], args, { onProgress });
    expect(firstText(response)).toContain('completed');
    expect(signs).toBeGreaterThanOrEqual(3);
  });

  it('gives arguments that do not fit as an error with the reason', async () => {
    const response = await call(pool, ['everything', 'get-sum'], { a: 'one' });
    expect(response.isError).toBe(true);
    expect(firstText(response)).toContain('Invalid arguments');
  });
});

describe('server-memory and calc-mcp', () => {
  it('keep state over the calls of one connection', async () => {
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }];
    await call(pool, ['memory', 'create_entities'], { entities });
    const { main } = pickPayload(await call(pool, ['memory', 'read_graph']));
    expect(JSON.parse(Buffer.from(main.bytes).toString())).toMatchObject({ entities });
  });

  it('carry no annotations where a server gives none (ask-4)', async () => {
    const { tools } = await list('calc');
    expect(tools.filter((tool) => tool.annotations !== undefined)).toEqual([]);
  });
});
