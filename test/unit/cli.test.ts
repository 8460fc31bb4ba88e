// The frame of the command line without processes: help, errors, tables, settings.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';

import { type Command, CommanderError } from 'commander';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { tellFailure } from '../../cli/failure.ts';
import { Interrupted } from '../../cli/interrupts.ts';
import { fingerprintOf, loadConfig, loadMcp } from '../../cli/load-config.ts';
import { createOutput, table } from '../../cli/output.ts';
import { requireNode } from '../../cli/node-version.ts';
import { createProgram } from '../../cli/program.ts';
import { ERROR_KINDS, type ErrorType, LongshoreError } from '../../shared/errors.ts';
import { namedServer } from '../../worker/dev-server.ts';
import { temporaryFolder } from '../support/process.ts';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function streams(isJson: boolean): {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly output: ReturnType<typeof createOutput>;
} {
  const [stdout, stderr] = [new Sink(), new Sink()];
  return { stdout, stderr, output: createOutput(stdout, stderr, isJson) };
}

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap((child) => everyCommand(child))];
}

describe('every command', () => {
  it('has help with an example that begins with a real command line', () => {
    const { stdout, stderr, output } = streams(false);
    const io = { stdout, stderr, env: {}, cwd: '/' };
    const interrupts = { handle: () => () => {}, raise: () => {}, asSignal: () => AbortSignal.abort() };
    const program = createProgram(io, { env: {}, cwd: '/', output, interrupts, action: () => async () => {} });
    const lacking = everyCommand(program).filter((command) => {
      stdout.text = '';
      command.outputHelp();
      return !/Examples:\n {2}\$ .*longshore/.test(stdout.text);
    });
    expect(lacking.map((command) => command.name())).toEqual([]);
  });
});

describe('the Node that runs a command', () => {
  it('is refused below 22.12, with its version, and else is not', () => {
    for (const version of ['20.20.2', '22.11.9'])
      expect(() => requireNode(version)).toThrow(`Node ${version} runs this`);
    for (const version of ['22.12.0', '24.1.0', '26.0.0']) expect(() => requireNode(version)).not.toThrow();
  });
});

describe('the live line', () => {
  it('is shown on a terminal that says it has no rows and columns', () => {
    const screen = Object.assign(new Sink(), { isTTY: true, columns: 0, rows: 0 });
    const output = createOutput(screen, new Sink(), false);
    output.live('[a]pprove, [d]eny?');
    output.endLive();
    expect(screen.text).toContain('[a]pprove, [d]eny?');
  });
});

describe('a failure', () => {
  const type = fc.constantFrom(...(Object.keys(ERROR_KINDS) as ErrorType[]));

  it('is always one line of type and message, then the mend, with the exit code of its type', () => {
    fc.assert(
      fc.property(type, fc.string(), fc.string({ minLength: 1 }), (kind, message, mend) => {
        const { stdout, stderr, output } = streams(false);
        const code = tellFailure(new LongshoreError(kind, message, mend), output, false);
        expect(code).toBe(ERROR_KINDS[kind].exitCode);
        expect(stdout.text).toBe('');
        const [first = '', ...rest] = stderr.text.split('\n');
        expect(first.startsWith(`error: ${kind}: `)).toBe(true);
        expect(rest.join('\n')).toBe(`${mend}\n`);
      }),
    );
  });

  it('with --json is always one document on standard output and nothing else anywhere', () => {
    fc.assert(
      fc.property(type, fc.string(), fc.string(), (kind, message, mend) => {
        const { stdout, stderr, output } = streams(true);
        tellFailure(new LongshoreError(kind, message, mend), output, false);
        expect(JSON.parse(stdout.text)).toEqual({ error: { type: kind, message, mend } });
        expect(stderr.text).toBe('');
      }),
    );
  });

  it('that nobody foresaw is Internal, and shows its stack only with --debug', () => {
    const plain = streams(false);
    expect(tellFailure(new TypeError('x is not a function'), plain.output, false)).toBe(1);
    expect(plain.stderr.text).toMatch(/^error: Internal: x is not a function\n.*--debug/);
    expect(plain.stderr.text).not.toContain('    at ');
    const debug = streams(false);
    tellFailure(new Error('outer', { cause: new Error('inner') }), debug.output, true);
    expect(debug.stderr.text).toMatch(/ {4}at [^]*caused by: Error: inner/);
  });

  it('of usage names the nearest command; an interruption is 130 without a word', () => {
    const usage = streams(false);
    const error = new CommanderError(
      1,
      'commander.unknownCommand',
      "error: unknown command 'rnu'\n(Did you mean run?)",
    );
    expect(tellFailure(error, usage.output, false)).toBe(2);
    expect(usage.stderr.text).toMatch(/^error: UsageInvalid: unknown command 'rnu'\nDid you mean `run`\?/);
    const interrupted = streams(false);
    expect(tellFailure(new Interrupted(), interrupted.output, false)).toBe(130);
    expect(interrupted.stdout.text + interrupted.stderr.text).toBe('');
  });
});

describe('output', () => {
  it('without a terminal has no colours and no live line', () => {
    const { stdout, output } = streams(false);
    output.live('working');
    output.line(output.paint('red', 'done'));
    output.endLive();
    expect(stdout.text).toBe('done\n');
  });

  it('with --json keeps standard output for the document', () => {
    const { stdout, stderr, output } = streams(true);
    output.line('for people');
    output.note('a remark');
    output.json({ a: 1 });
    expect(stdout.text).toBe('{"a":1}\n');
    expect(stderr.text).toBe('for people\na remark\n');
  });

  it('aligns tables by their widest cell, without blanks at the end', () => {
    expect(
      table([
        ['a', 'b'],
        ['longer', ''],
        ['', 'c'],
      ]),
    ).toEqual(['a       b', 'longer', '        c']);
  });

  it('does not let one long cell of a table push all other rows apart', () => {
    const long = 'x'.repeat(300);
    expect(
      table([
        ['a', 'b'],
        [long, 'c'],
      ]),
    ).toEqual([`a${' '.repeat(81)}b`, `${long}  c`]);
  });
});

describe('settings', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(async () => folder.remove());
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder.path, name);
    await writeFile(path, text);
    return path;
  };

  it('come from temporal.config.ts, and may be missing', async () => {
    expect(await loadConfig(folder.path)).toEqual({});
    await write('temporal.config.ts', 'const q: string = "mine"; export default { taskQueue: q };');
    expect(await loadConfig(folder.path)).toEqual({ taskQueue: 'mine' });
  });

  it('that are wrong are one error with file, place and mend', async () => {
    await write('temporal.config.mjs', 'export default { taskQeue: "x" };');
    await expect(loadConfig(folder.path)).rejects.toMatchObject({
      type: 'ConfigInvalid',
      message: expect.stringMatching(/temporal\.config\.mjs.*taskQeue/),
      mend: expect.stringContaining('taskQueue'),
    });
  });

  it('that cannot be loaded, or export nothing, are an error that names the file', async () => {
    await write('temporal.config.mjs', 'export default {');
    const error = { type: 'ConfigInvalid', message: expect.stringContaining('temporal.config.mjs') };
    await expect(loadConfig(folder.path)).rejects.toMatchObject(error);
    await write('temporal.config.js', 'export const config = {};');
    const other = { type: 'ConfigInvalid', message: expect.stringContaining('no default export') };
    await expect(loadConfig(folder.path)).rejects.toMatchObject(other);
  });

  it('of MCP servers come from --mcp, else mcp.json beside the spec, else here, else the configuration', async () => {
    const servers = (command: string): string => JSON.stringify({ mcpServers: { s: { command } } });
    const config = { mcpServers: { s: { command: 'configured' } } };
    const commandOf = async (more: { mcpFile?: string; specFile?: string }): Promise<unknown> => {
      const { mcp } = await loadMcp({ cwd: folder.path, config, ...more });
      return mcp.servers['s'];
    };
    const beside = await temporaryFolder();
    expect(await commandOf({})).toMatchObject({ command: 'configured' });
    await write('mcp.json', servers('here'));
    expect(await commandOf({ specFile: join(beside.path, 'agent.yaml') })).toMatchObject({ command: 'here' });
    await writeFile(join(beside.path, 'mcp.json'), servers('beside'));
    expect(await commandOf({ specFile: join(beside.path, 'agent.yaml') })).toMatchObject({ command: 'beside' });
    await write('other.json', servers('named'));
    expect(await commandOf({ mcpFile: 'other.json' })).toMatchObject({ command: 'named' });
    await beside.remove();
  });

  it('of MCP servers that are missing or wrong are one clear error', async () => {
    const missing = loadMcp({ cwd: folder.path, mcpFile: 'none.json', config: {} });
    await expect(missing).rejects.toMatchObject({
      type: 'McpConfigInvalid',
      message: expect.stringContaining(join(folder.path, 'none.json')),
    });
    await write('mcp.json', '{"mcpServers": {"a": {"comand": "x"}, "b": {}}}');
    await expect(loadMcp({ cwd: folder.path, config: {} })).rejects.toMatchObject({
      type: 'McpConfigInvalid',
      mend: expect.stringMatching(/mcpServers\.a: [^]*mcpServers\.b: /),
    });
    await write('mcp.json', '{"mcpServers": ');
    await expect(loadMcp({ cwd: folder.path, config: {} })).rejects.toMatchObject({ type: 'McpConfigInvalid' });
  });

  it('that differ have different fingerprints, the same ones the same', async () => {
    const store = { type: 'local' as const, folder: '/data' };
    const of = async (command: string): Promise<string> =>
      fingerprintOf(await loadMcp({ cwd: folder.path, config: { mcpServers: { s: { command } } } }), store);
    expect(await of('a')).toBe(await of('a'));
    expect(await of('a')).not.toBe(await of('b'));
    const mcp = await loadMcp({ cwd: folder.path, config: {} });
    const bucket = (prefix: string) => ({ type: 's3' as const, bucket: 'files', prefix });
    expect(fingerprintOf(mcp, bucket('a'))).toBe(fingerprintOf(mcp, bucket('a')));
    expect(new Set([store, bucket('a'), bucket('b')].map((one) => fingerprintOf(mcp, one))).size).toBe(3);
  });

  it('of Temporal name a server by address, namespace or profile, else the configured one, else none', async () => {
    const HOME = folder.path;
    const toml = await write('t.toml', '[profile.stage]\naddress = "stage:7233"\nnamespace = "ns"\n');
    const configured = { address: 'configured:7233' };
    const address = (env: NodeJS.ProcessEnv): string | undefined =>
      namedServer({ HOME, ...env }, configured)?.connectionOptions.address;
    expect(namedServer({ HOME, TEMPORAL_ADDRESS: '' })).toBe(null);
    expect(address({})).toBe('configured:7233');
    expect(address({ TEMPORAL_ADDRESS: 'a:1' })).toBe('a:1');
    expect(address({ TEMPORAL_NAMESPACE: 'n' })).toBe('localhost:7233');
    expect(namedServer({ HOME, TEMPORAL_CONFIG_FILE: toml, TEMPORAL_PROFILE: 'stage' })).toMatchObject({
      connectionOptions: { address: 'stage:7233' },
      namespace: 'ns',
      setting: 'TEMPORAL_PROFILE (stage)',
    });
    const unknown = (): unknown => namedServer({ HOME, TEMPORAL_CONFIG_FILE: toml, TEMPORAL_PROFILE: 'nope' });
    expect(unknown).toThrow(LongshoreError);
  });
});
