// Bad input to `longshore run`: each ends in one clear error with its mend and the right exit code, before anything is started.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type CliCall, type CliWorld, expectError, openWorld, PROJECT, startProcess } from '../support/cli.ts';

let world: CliWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
});

interface Case {
  readonly args: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly type: string;
  readonly message: RegExp;
  /** In what comes after the error's line. */
  readonly mend?: RegExp;
  readonly call?: CliCall;
  /** @default 2 */
  readonly code?: number;
}

const SPEC = 'name: t\nmodel: {name: openai/scripted}\n';
const USES_FS = `${SPEC}mcp_servers: [{name: fs}]\n`;
const say = ['--message', 'x'];

function mcpCase(mcp: string, type: string, message: RegExp, mend?: RegExp): Case {
  const files = { 'm/agent.yaml': USES_FS, 'm/mcp.json': mcp };
  // Where a Worker must be chosen first, the server runs for a moment.
  const call = { env: { LONGSHORE_HOME: 'mcp-home' } };
  return { args: ['m/agent.yaml', ...say], files, type, message, call, ...(mend && { mend }) };
}

const CASES: Readonly<Record<string, Case>> = {
  'no spec file': { args: ['none.yaml', ...say], type: 'SpecNotFound', message: /none\.yaml/ },
  'a folder as spec': { args: ['data', ...say], type: 'SpecNotFound', message: /data is a folder/ },
  'no spec at all': { args: [], type: 'UsageInvalid', message: /spec/ },
  'an empty spec': { args: ['e.yaml', ...say], files: { 'e.yaml': '' }, type: 'SpecInvalid', message: /e\.yaml/ },
  'a spec of only a comment': {
    args: ['c.yaml', ...say],
    files: { 'c.yaml': '# x\n' },
    type: 'SpecInvalid',
    message: /c\.yaml/,
  },
  'an unknown key, with the nearest known one': {
    args: ['u.yaml', ...say],
    files: { 'u.yaml': `${SPEC}instuctions: hi\n` },
    type: 'SpecInvalid',
    message: /instuctions/,
    mend: /instructions/,
  },
  'YAML indented with tabs': {
    args: ['t.yaml', ...say],
    files: { 't.yaml': 'name: t\nmodel:\n\tname: openai/scripted\n' },
    type: 'SpecInvalid',
    message: /t\.yaml/,
    mend: /tab|space/i,
  },
  'two faults at once, both told': {
    args: ['two.yaml', ...say],
    files: { 'two.yaml': 'name: t\nmodel: {name: 7}\nconfig: {iteration_limit: -1}\n' },
    type: 'SpecInvalid',
    message: /2 faults/,
    mend: /model\.name[^]*iteration_limit/,
  },
  'a number that is none, by its path': {
    args: ['nan.yaml', ...say],
    files: { 'nan.yaml': `${SPEC}config: {budgets: {tokens: .nan}}\n` },
    type: 'SpecInvalid',
    message: /: nan\.yaml: config\.budgets\.tokens: NaN is not a finite number$/,
  },
  'no message anywhere': { args: ['agent.yaml'], type: 'MessageEmpty', message: /nothing to answer/ },
  'an empty message': { args: ['agent.yaml', '--message', ''], type: 'MessageEmpty', message: /empty/ },
  'a blank message from standard input': {
    args: ['agent.yaml', '--message-file', '-'],
    call: { input: ' \n\t' },
    type: 'MessageEmpty',
    message: /empty/,
  },
  'a message file that is not there': {
    args: ['agent.yaml', '--message-file', 'no.txt'],
    type: 'UsageInvalid',
    message: /no\.txt/,
  },
  'a folder as message file': { args: ['agent.yaml', '--message-file', 'data'], type: 'UsageInvalid', message: /data/ },
  'a message file that is not text': {
    args: ['agent.yaml', '--message-file', 'latin.txt'],
    type: 'MessageInvalid',
    message: /latin\.txt/,
  },
  'a message given twice': {
    args: ['agent.yaml', ...say, '--message-file', '-'],
    type: 'UsageInvalid',
    message: /both/,
  },
  'a message of 10 MB': {
    args: ['agent.yaml', '--message-file', 'long.txt'],
    type: 'MessageTooLarge',
    message: /10485\d\d\d bytes.*1048576/,
  },
  'a seed message of 10 MB': {
    args: ['seed.json'],
    type: 'SpecInvalid',
    message: /: seed\.json: The text has \d+ characters; the limit is 1048576$/,
  },
  'an MCP command that does not exist': mcpCase(
    '{"mcpServers": {"fs": {"command": "no-such-program-here"}}}',
    'McpCommandNotFound',
    /no-such-program-here.*fs|fs.*no-such-program-here/,
  ),
  'an MCP server that nobody configured, with those that are': mcpCase(
    '{"mcpServers": {"files": {"command": "node"}, "web": {"url": "http://127.0.0.1:9/mcp", "type": "http"}}}',
    'McpServerUnknown',
    /`fs`.*files, web/,
  ),
  'a broken mcp.json': mcpCase('{"mcpServers": {', 'McpConfigInvalid', /mcp\.json/),
  'an unknown key in mcp.json': mcpCase(
    '{"mcpServers": {"fs": {"command": "node", "arg": []}}}',
    'McpConfigInvalid',
    /fs.*arg|arg.*fs/,
    /args/,
  ),
  'an --mcp file that is not there': {
    args: ['agent.yaml', ...say, '--mcp', 'no.json'],
    type: 'McpConfigInvalid',
    message: /no\.json/,
  },
  'a variable of mcp.json that is not set': mcpCase(
    '{"mcpServers": {"fs": {"command": "node", "args": ["${NOT_SET_ANYWHERE}"]}}}',
    'EnvironmentMissing',
    /NOT_SET_ANYWHERE/,
    /NOT_SET_ANYWHERE/,
  ),
  'a home in whose place a file stands': {
    args: ['agent.yaml', ...say],
    files: { 'file-home': 'x' },
    call: { env: { LONGSHORE_HOME: 'file-home' } },
    type: 'HomeUnusable',
    message: /file-home/,
    mend: /LONGSHORE_HOME/,
    code: 3,
  },
  // No user may make a folder there, root included.
  'a home that may not be written': {
    args: ['agent.yaml', ...say],
    call: { env: { LONGSHORE_HOME: '/sys/longshore' } },
    type: 'HomeUnusable',
    message: /\/sys\/longshore/,
    mend: /LONGSHORE_HOME/,
    code: 3,
  },
  'a Temporal CLI that is not there': {
    args: ['agent.yaml', ...say],
    call: { env: { LONGSHORE_TEMPORAL_CLI: '/no/such/temporal' } },
    type: 'TemporalCliMissing',
    message: /\/no\/such\/temporal/,
    mend: /LONGSHORE_TEMPORAL_CLI/,
    code: 3,
  },
  'a Temporal CLI that is another program': {
    args: ['agent.yaml', ...say],
    call: { env: { LONGSHORE_TEMPORAL_CLI: process.execPath } },
    type: 'TemporalCliMissing',
    message: /node/,
    mend: /LONGSHORE_TEMPORAL_CLI/,
    code: 3,
  },
};

describe('run refuses', () => {
  beforeAll(async () => {
    await world.write('long.txt', 'ten bytes '.repeat(1_048_576));
    await world.write('latin.txt', Buffer.from([0x67, 0x72, 0xfc, 0xdf, 0x65]));
    const content = 'ten bytes '.repeat(1_048_576);
    const seeded = { name: 's', model: { name: 'openai/scripted' }, messages: [{ type: 'user.message', content }] };
    await world.write('seed.json', JSON.stringify(seeded));
  });

  it.for(Object.entries(CASES))('%s', async ([, { args, files = {}, type, message, mend, call, code = 2 }]) => {
    for (const [name, content] of Object.entries(files)) await world.write(name, content);
    const end = await world.longshore(['run', ...args], call);
    expectError(end, type, code, message);
    expect(end.stdout).toBe('');
    expect(end.stderr.slice(end.stderr.indexOf('\n'))).toMatch(mend ?? /\w/);
  });

  it('the same as a document with --json, and nothing beside it', async () => {
    const end = await world.longshore(['run', 'agent.yaml', '--message', '', '--json']);
    expect(end.code).toBe(2);
    expect(JSON.parse(end.stdout)).toEqual({
      error: { type: 'MessageEmpty', message: expect.stringMatching(/empty/), mend: expect.stringMatching(/\w/) },
    });
    expect(end.stderr).not.toContain('error:');
  });

  it('with a stack only when asked with --debug', async () => {
    const end = await world.longshore(['run', 'none.yaml', '--message', 'x', '--debug']);
    expect(end.code).toBe(2);
    expect(end.stderr).toMatch(/^error: SpecNotFound: [^]*\n\s+at /m);
  });

  it('all that before anything is started: no server has written a database', async () => {
    expect(await readdir(world.home).catch(() => [])).not.toContain('temporal.db');
  });
});

// Only Linux has /dev/full.
describe.runIf(process.platform === 'linux')('standard output that takes no more', () => {
  /** Only a descriptor of the shell's opens the device: nothing can replace it. */
  const full = (args: string, redirection: string) =>
    startProcess(
      ['-c', `exec "$0" "$1" ${args} ${redirection} /dev/full`, process.execPath, join(PROJECT, 'cli', 'main.ts')],
      { cwd: world.folder, env: { LONGSHORE_HOME: world.home } },
      'sh',
    ).ended;

  it.each([
    'spec check agent.yaml',
    'spec check none.yaml --json',
    'files list',
    'files list --json',
    '--help',
    '--version',
  ])('is one error and exit code 3: %s', async (args) => {
    const end = await full(args, '>');
    expectError(end, 'OutputFailed', 3, /standard output.*ENOSPC/);
    expect(end.stderr).not.toContain('node:');
  });

  it('nor standard error: exit code 3, without a word', async () => {
    expect(await full('spec check none.yaml', '2>')).toMatchObject({ code: 3, stdout: '', stderr: '' });
  });
});

describe('an empty or blank value, as of a variable that is not set', () => {
  it.each([
    ['run', 'agent.yaml', '--message', 'x', '--continue', ''],
    ['run', 'agent.yaml', '--message', 'x', '--session', ' '],
    ['run', 'agent.yaml', '--message', 'x', '--task-queue', ''],
    ['run', 'agent.yaml', '--message', 'x', '--mcp='],
    ['run', '', '--message', 'x'],
    ['dev', '--task-queue', '\t'],
    ['worker', '--task-queue', ''],
    ['turns', 'show', ''],
    ['turns', 'cancel', ' '],
    ['files', 'list', ''],
    ['files', 'get', ''],
    ['files', 'get', '/sandbox/x', '-o', ''],
    ['files', 'show', '/sandbox/x', '--turn', ''],
    ['spec', 'check', ''],
  ])('is wrong usage: %s %s %s %s %s %s', async (...args) => {
    const end = await world.longshore(args);
    expectError(end, 'UsageInvalid', 2, /It is empty/);
    expect(end.stdout).toBe('');
  });

  it('is told with what it is a value of; an id longer than Temporal takes too', async () => {
    const long = await world.longshore(['turns', 'show', 'x'.repeat(1_001)]);
    expectError(long, 'UsageInvalid', 2, /'id'.*1001 bytes; the limit is 1000/);
    const name = await world.longshore(['approvals', 'deny', 'turn-1:t1.0.0', '--as', 'x'.repeat(201)]);
    expectError(name, 'UsageInvalid', 2, /--as <name>.*201 characters; the limit is 200/);
    const session = await world.longshore(['run', 'agent.yaml', '--message', 'x', '--session', '']);
    expectError(session, 'UsageInvalid', 2, /--session <id>/);
    expect(session.stdout).toBe('');
  });
});
