// The package in an empty project: what `npm pack` gives, its command, its four entries with their types, and the example of
// a user's own Worker.
import { execFile } from 'node:child_process';
import { cp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type CliWorld, expectDone, interrupt, openWorld, plan, PROJECT, startProcess } from '../support/cli.ts';
import { type InstalledPackage, installPackage, packageEnv } from '../support/package.ts';

let installed: InstalledPackage;
let world: CliWorld;
/** The installed command, as its name in `node_modules/.bin` starts it. */
let bin: string;

beforeAll(async () => {
  [installed, world] = await Promise.all([installPackage(), openWorld()]);
  bin = join(installed.project, 'node_modules', '.bin', 'longshore');
}, 400_000);

afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
  await rm(installed.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

async function run(command: string, args: readonly string[], cwd: string = installed.project): Promise<string> {
  const env = packageEnv({ LONGSHORE_HOME: world.home, OPENAI_BASE_URL: world.model.baseUrl });
  const { stdout } = await promisify(execFile)(command, args, { cwd, env });
  return stdout;
}

describe('the tarball', () => {
  it('holds the compiled program with its types, the bundle of the Workflows, docs and examples, and no other source or test', () => {
    const { files } = installed;
    for (const path of ['package.json', 'dist/workflow-bundle.js', 'dist/cli/main.js', 'dist/worker/index.d.ts']) {
      expect(files).toContain(path);
    }
    const others = files.filter(
      (path) =>
        !/^dist\/.*\.(js|d\.ts)$|^docs\/|^examples\/|^bench\/RESULTS\.md$|^[A-Z]+(\.md)?$|^package\.json$/.test(path),
    );
    expect(others).toEqual([]);
    expect(files.filter((path) => path.endsWith('.d.ts')).map((path) => path.replace('.d.ts', '.js'))).toEqual(
      files.filter((path) => /^dist\/.*\.js$/.test(path) && path !== 'dist/workflow-bundle.js'),
    );
  });

  it('names no source file in an import, and no folder of the machine that built it', async () => {
    const faulty: string[] = [];
    for (const path of installed.files.filter((file) => file.startsWith('dist/'))) {
      const text = await readFile(join(installed.project, 'node_modules', 'longshore', path), 'utf8');
      if (/(from|import)\s*\(?['"]\.[^'"]*\.ts['"]/.test(text) || text.includes(installed.folder)) faulty.push(path);
    }
    expect(faulty).toEqual([]);
  });

  it('brings one protobufjs that Temporal’s packages share', async () => {
    const modules = join(installed.project, 'node_modules');
    const nested = await readdir(join(modules, '@temporalio'), { recursive: true });
    expect(nested.filter((path) => /node_modules.protobufjs.package\.json$/.test(path))).toEqual([]);
    const { version } = JSON.parse(await readFile(join(modules, 'protobufjs', 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(version).toMatch(/^8\./);
  });
});

describe('the command', () => {
  it('is there by its name, can be executed, and tells the version of the package', async () => {
    expect((await stat(await realpath(bin))).mode & 0o111).toBe(0o111);
    const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
    expect(await run('npx', ['longshore', '--version'])).toBe(`${version}\n`);
  });

  it('checks a spec', async () => {
    const document = await run('npx', ['longshore', 'spec', 'check', join(world.folder, 'agent.yaml'), '--json']);
    expect(JSON.parse(document)).toMatchObject({ faults: [] });
  });

  it(
    'runs a turn: server, Worker, threads that measure and query, all from the package',
    { timeout: 120_000 },
    async () => {
      await world.write('data/big.json', JSON.stringify(Array.from({ length: 30_000 }, (_, id) => ({ id }))));
      const read = { name: 'fs__read_text_file', arguments: { path: join(world.folder, 'data', 'big.json') } };
      const first = await runTurn(plan({ toolCalls: [read] }, { text: 'Read.' }));
      const [call] = first.steps[0]?.toolCalls ?? [];
      expect(call).toMatchObject({ outcome: 'ok', placement: 'file', rule: 'per-result' });
      const path = call?.path ?? '';
      const inspect = [
        { name: 'sandbox__infer_schema', arguments: { path } },
        { name: 'sandbox__query_json', arguments: { path, query: '$sum(id)' } },
        { name: 'sandbox__search_file', arguments: { path, pattern: '"id":29999' } },
      ];
      const second = await runTurn(plan({ toolCalls: inspect }, { text: 'Looked.' }), '--continue', first.workflowId);
      expect(second.steps[0]?.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
      expect(JSON.stringify(world.model.requests.at(-1))).toContain('449985000');
      await world.expectNothingRunning();
    },
  );
});

describe('the four entries', () => {
  it('can be imported, and their types are exact for a project of strict settings', { timeout: 120_000 }, async () => {
    await writeFile(join(installed.project, 'entries.ts'), ENTRIES);
    const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2024',
    ];
    const types = ['--typeRoots', join(PROJECT, 'node_modules', '@types'), '--types', 'node,ms'];
    const found = await run(process.execPath, [tsc, ...options, ...types, 'entries.ts']).catch(
      (failed: { readonly stdout: string }) => failed.stdout,
    );
    // Declarations of other packages are theirs; ours, and a program that uses them, have no fault.
    const ours = found.split('\n').filter((line) => /^(entries\.ts|node_modules\/longshore\/)/.test(line));
    expect(ours).toEqual([]);
    expect(await run(process.execPath, ['entries.ts'])).toBe('function function function function\n');
  });

  it('carry a user’s own Worker: the example runs as it is', { timeout: 120_000 }, async () => {
    await cp(join(PROJECT, 'examples', 'own-worker'), join(installed.project, 'own-worker'), { recursive: true });
    const env = { LONGSHORE_HOME: world.home, OPENAI_BASE_URL: world.model.baseUrl };
    const dev = startProcess([await realpath(bin), 'dev'], { cwd: installed.project, env });
    const address = /Temporal +(\S+),/.exec(await dev.says(/Ctrl-C stops it/))?.[1] ?? '';
    const example = startProcess(['main.ts'], {
      cwd: join(installed.project, 'own-worker'),
      env: { TEMPORAL_ADDRESS: address },
    });
    const end = await example.ended;
    expectDone(end);
    expect(end.stdout.match(/The order desk says: .*at sea.*Rotterdam/g)).toHaveLength(2);
    expect((await interrupt(dev)).code).toBe(0);
  });
});

interface Turn {
  readonly workflowId: string;
  readonly steps: readonly { readonly toolCalls: readonly Record<string, string>[] }[];
}

async function runTurn(message: string, ...args: readonly string[]): Promise<Turn> {
  const spec = join(world.folder, 'agent.yaml');
  const document = await run('npx', ['longshore', 'run', spec, '--message', message, '--json', ...args]);
  // The form is what the test looks at.
  return JSON.parse(document) as Turn;
}

const ENTRIES = `
import { defineConfig, LongshorePlugin, type LongshorePluginOptions } from 'longshore';
import { checkSpec, readTurn, type TurnView } from 'longshore/client';
import { startScriptedModel } from 'longshore/testing';
import type { AgentTurnInput, AgentTurnResult } from 'longshore/workflow';

const options: LongshorePluginOptions = { store: { folder: 'store' } };
export const input = (spec: AgentTurnInput['spec']): AgentTurnInput => ({ version: 1, spec });
export const answer = (result: AgentTurnResult): string | null => result.answer;
export const status = (view: TurnView): string => view.status;
// @ts-expect-error: a number is no folder
export const wrong: LongshorePluginOptions = { store: { folder: 1 } };
// @ts-expect-error: a turn has no such key
export const none = (view: TurnView) => view.nothing;
export const plugin = (): LongshorePlugin => new LongshorePlugin(options);
console.log(typeof defineConfig, typeof checkSpec, typeof readTurn, typeof startScriptedModel);
`;
