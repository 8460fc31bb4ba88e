// The command line as processes: exit codes, the two forms of errors, signals, closed pipes.
import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { finish, runCli, startCli, temporaryFolder, until } from '../support/process.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => folder.remove());

const longshore = async (...args: string[]): ReturnType<typeof runCli> => runCli(args, { cwd: folder.path });

/** The one document on standard output. */
function documentOf({ stdout }: { readonly stdout: string }): unknown {
  expect(stdout.trim().split('\n')).toHaveLength(1);
  return JSON.parse(stdout);
}

describe('wrong usage', () => {
  it.each([
    { args: ['spce'], says: /^error: UsageInvalid: unknown command 'spce'\nDid you mean `spec`\?/ },
    { args: ['spec', 'check'], says: /^error: UsageInvalid: missing required argument 'spec'\n/ },
    { args: ['doctor', '--jsno'], says: /^error: UsageInvalid: unknown option '--jsno'\nDid you mean `--json`\?/ },
    { args: ['spec', 'check', 'nope.yaml'], says: /^error: SpecNotFound: .*nope\.yaml\.\n/ },
    { args: ['spec'], says: /Usage: longshore spec/ },
  ])('$args exits 2 and says what and how to mend it', async ({ args, says }) => {
    const { code, stdout, stderr } = await longshore(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain('    at ');
  });

  it('with --json is a document, and nothing else is printed', async () => {
    const result = await longshore('spce', '--json');
    expect(documentOf(result)).toMatchObject({ error: { type: 'UsageInvalid', message: expect.any(String) } });
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 2, stderr: '' });
  });
});

describe('longshore spec check', () => {
  it('passes a valid spec, without a server and without a home', async () => {
    await writeFile(join(folder.path, 'agent.yaml'), 'model: {name: openai/gpt-5-mini}\n');
    const plain = await longshore('spec', 'check', 'agent.yaml');
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout).toContain('valid agent spec');
    expect(documentOf(await longshore('spec', 'check', 'agent.yaml', '--json'))).toMatchObject({
      valid: true,
      faults: [],
    });
    expect(await readdir(folder.path)).toEqual(['agent.yaml']);
  });

  it('lists every fault with its place and mend, and exits 2', async () => {
    await writeFile(join(folder.path, 'agent.yaml'), 'modle: {}\nconfig: {iteration_limit: 0}\n');
    const plain = await longshore('spec', 'check', 'agent.yaml');
    expect(plain.code).toBe(2);
    expect(plain.stderr).toMatch(/^error: SpecInvalid: agent\.yaml/);
    expect(plain.stderr).toMatch(/config\.iteration_limit[^]*modle|modle[^]*config\.iteration_limit/);
    const json = await longshore('spec', 'check', 'agent.yaml', '--json');
    expect(json.code).toBe(2);
    expect(documentOf(json)).toMatchObject({
      valid: false,
      faults: expect.arrayContaining([expect.objectContaining({ path: 'config.iteration_limit' })]),
      error: { type: 'SpecInvalid' },
    });
  });
});

describe('longshore doctor', () => {
  it('checks each thing, exits 1 when something needed is missing, and leaves nothing running', async () => {
    const mcp = { mcpServers: { gone: { command: 'no-such-command-anywhere' } } };
    await writeFile(join(folder.path, 'mcp.json'), JSON.stringify(mcp));
    const result = await longshore('doctor', '--json');
    expect(result.code).toBe(1);
    const { checks } = documentOf(result) as {
      readonly checks: readonly { readonly name: string; readonly status: string; readonly mend: string | null }[];
    };
    const statusOf = Object.fromEntries(checks.map(({ name, status }) => [name, status]));
    expect(statusOf).toMatchObject({
      Node: 'ok',
      home: 'ok',
      'file store': 'ok',
      'Temporal CLI': 'ok',
      'embedded server': 'ok',
      model: 'missing',
      'MCP server gone': 'missing',
    });
    expect(checks.filter(({ status, mend }) => status !== 'ok' && mend === null)).toEqual([]);
    await until('the server has stopped', async () => {
      return (await readdir(join(folder.path, '.longshore', 'keepers'))).length === 0;
    });
  });

  it.each([
    ['none of them', {}, /^none: no --mcp, no mcp\.json here, no `mcpServers` in temporal\.config$/],
    ['mcp.json', { 'mcp.json': '{"mcpServers": {}}' }, /mcp\.json$/],
    ['temporal.config', { 'temporal.config.mjs': 'export default {mcpServers: {}};' }, /^temporal\.config$/],
    ['a configuration without', { 'temporal.config.mjs': 'export default {};' }, /^none: /],
  ])('says where MCP servers are named: %s', async (_, files, detail) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress') };
    const { checks } = documentOf(await runCli(['doctor', '--json'], { cwd: folder.path, env })) as {
      readonly checks: readonly { readonly name: string }[];
    };
    expect(checks.find(({ name }) => name === 'MCP configuration')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(detail),
    });
  });

  it('exits 0 when all is there: a named server, a model that answers', async () => {
    const model = createServer((_request, response) => response.end('{"data": []}'));
    await new Promise<void>((resolve) => void model.listen(0, '127.0.0.1', resolve));
    const address = model.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const result = await runCli(['doctor', '--json'], {
      cwd: folder.path,
      env: { TEMPORAL_ADDRESS: inject('temporalAddress'), OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    });
    model.close();
    expect(result.code).toBe(0);
    const statusOf = documentOf(result) as { readonly checks: readonly unknown[] };
    expect(statusOf.checks).toContainEqual(expect.objectContaining({ name: 'Temporal server', status: 'ok' }));
    expect(statusOf.checks).toContainEqual(expect.objectContaining({ name: 'pacing' }));
    expect(statusOf.checks).toContainEqual(expect.objectContaining({ name: 'model', status: 'ok' }));
  });
});

describe('a server that is named and not there', () => {
  it('exits 3 and names address and setting', async () => {
    const { code, stderr } = await runCli(['worker'], { cwd: folder.path, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: TemporalUnavailable: .*127\.0\.0\.1:1, named by TEMPORAL_ADDRESS/);
  });
});

describe('longshore dev', () => {
  it('serves until Ctrl-C, then exits 0 with nothing left running', async () => {
    const child = startCli(['dev'], { cwd: folder.path });
    const finished = finish(child);
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes('Ctrl-C') && resolve());
      void finished.then(({ stderr }) => reject(new Error(`dev ended: ${stderr}`)));
    });
    child.kill('SIGINT');
    const { code, stdout } = await finished;
    expect(code).toBe(0);
    expect(stdout).toMatch(/Worker ready[^]*Temporal[^]*Web UI/);
    expect(await readdir(join(folder.path, '.longshore', 'keepers'))).toEqual([]);
  });
});

describe('a reader that goes away', () => {
  it('ends the command without a word', async () => {
    const child = startCli(['--help'], { cwd: folder.path });
    child.stdout?.destroy();
    const { stderr } = await finish(child);
    expect(stderr).toBe('');
  });
});
