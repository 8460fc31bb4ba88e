// What the pages for people say is compared with the code, where a program can do it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../../cli/output.ts';
import { createProgram } from '../../cli/program.ts';
import { isObject } from '../../shared/json.ts';
import { checkMcpConfig } from '../../shared/mcp-config-schema.ts';
import { checkSpec } from '../../shared/spec-check.ts';
import { specJsonSchema } from '../../shared/spec-schema.ts';
import { parseSpecText } from '../../shared/spec-text.ts';
import { ACTIVITY_SETTINGS } from '../../shared/activity-options.ts';
import { anchorsOf, linksOf, pages, repositoryFiles, ROOT, sectionOf, snippetsOf, textOf } from '../support/docs.ts';

const reference = textOf('docs/reference.md');
const snippets = pages().flatMap((page) => snippetsOf(page, textOf(page)));

describe('snippets', () => {
  const code = snippets.filter(({ language }) => ['ts', 'yaml', 'json'].includes(language));

  it('of TypeScript, YAML and JSON name the file they come from', () => {
    expect(code.length).toBeGreaterThan(10);
    expect(code.filter(({ source }) => source === null).map(({ page, code: text }) => `${page}: ${text}`)).toEqual([]);
  });

  it('stand word for word in the file they name', () => {
    const wrong = code.filter(({ source, code: text }) => source !== null && !textOf(source).includes(text.trimEnd()));
    expect(wrong.map(({ page, source, code: text }) => `${page} from ${source}: ${text}`)).toEqual([]);
  });

  it('that show specs and MCP servers come from files that are valid', () => {
    const spec = parseSpecText(textOf('examples/spec/agent.yaml'), 'agent.yaml');
    expect('value' in spec && checkSpec(spec.value).faults).toEqual([]);
    const mcp = checkMcpConfig(JSON.parse(textOf('examples/spec/mcp.json')), 'mcp.json');
    expect('config' in mcp && Object.keys(mcp.config.servers)).toEqual(['fs', 'web']);
  });
});

describe('links', () => {
  it('lead to files and headings that are there', () => {
    const links = pages().flatMap((page) => linksOf(page, textOf(page)));
    expect(links.length).toBeGreaterThan(20);
    const broken = links.filter(({ path, anchor }) => {
      if (!existsSync(join(ROOT, path))) return true;
      return anchor !== '' && !anchorsOf(textOf(path)).includes(anchor);
    });
    expect(broken.map(({ page, target }) => `${page}: ${target}`)).toEqual([]);
  });
});

describe('the reference', () => {
  it.each(commandsOf(program()))('has $name with each of its options', ({ name, command }) => {
    const section = sectionOf(reference, name) ?? '';
    const missing = command.options.flatMap(({ long, short }) =>
      [long, short].filter((flag) => flag !== undefined && flag !== null && !section.includes(`\`${flag}`)),
    );
    expect({ isThere: section !== '', missing }).toEqual({ isThere: true, missing: [] });
  });

  it('names no option that its command does not have', () => {
    const unknown = commandsOf(program()).flatMap(({ name, command }) => {
      const known = command.options.map(({ long }) => long);
      const table = (sectionOf(reference, name) ?? '').split('\n').filter((line) => line.startsWith('| `-'));
      const named = table.flatMap((line) => (line.split('|')[1] ?? '').match(/--[a-z-]+/g) ?? []);
      return named.filter((option) => !known.includes(option)).map((option) => `${name} ${option}`);
    });
    expect(unknown).toEqual([]);
  });

  it('has every key of an agent spec', () => {
    const section = [sectionOf(reference, 'Agent spec')].join('');
    expect(keysOf(specJsonSchema()).filter((key) => !new RegExp(`\\b${key}\\b`).test(section))).toEqual([]);
  });

  it.each([
    ['longshore', 'worker/index.ts'],
    ['longshore/workflow', 'workflows/index.ts'],
    ['longshore/client', 'client/index.ts'],
    ['longshore/testing', 'testing/index.ts'],
  ])('lists what the entry %s exports, and nothing else', (entry, file) => {
    const exported = [...textOf(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.replace(/^\s*type\s/, '').trim()),
    );
    const row = (sectionOf(reference, 'Public entries') ?? '')
      .split('\n')
      .find((line) => line.startsWith(`| \`${entry}\` |`));
    const listed = [...(row ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).slice(1);
    expect(listed.sort()).toEqual(exported.filter((name) => name !== '').sort());
  });

  it.each([
    ['A turn', 'client/turn-view.ts', ['ToolCallView', 'StepView', 'TurnView']],
    ['A list of turns', 'client/turns.ts', ['TurnListing']],
  ])('has every key of the JSON form of %s', (title, file, types) => {
    const section = sectionOf(reference, title) ?? '';
    const keys = types.flatMap((type) => {
      const body = new RegExp(`interface ${type} \\{\n([\\s\\S]*?)\n\\}`).exec(textOf(file))?.[1] ?? '';
      return [...body.matchAll(/\breadonly (\w+)\??:/g)].map(([, key = '']) => key);
    });
    expect(keys.length).toBeGreaterThan(6);
    expect(keys.filter((key) => !new RegExp(`\\b${key}\\b`).test(section))).toEqual([]);
  });

  it('has every environment variable of ours that the code reads', () => {
    const source = repositoryFiles().filter((path) =>
      /^(activities|cli|client|shared|worker|examples)\/.*\.ts$/.test(path),
    );
    const read = new Set(source.flatMap((path) => textOf(path).match(/\bLONGSHORE_[A-Z_]+/g) ?? []));
    expect(read.size).toBeGreaterThan(4);
    expect([...read].filter((name) => !reference.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the architecture page', () => {
  it('has the longest attempt and the number of attempts of each Activity', () => {
    const page = textOf('docs/architecture.md');
    for (const [name, { startToCloseTimeout, retry }] of Object.entries(ACTIVITY_SETTINGS)) {
      const minutes = startToCloseTimeout / 60_000;
      const time = minutes < 60 ? `${minutes} min` : `${minutes / 60} h`;
      const wireName = `longshore${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      expect(page).toContain(`| \`${wireName}\` | ${time} | ${retry.maximumAttempts} |`);
    }
  });

  it('names files and folders that are there', () => {
    const named = [...textOf('docs/architecture.md').matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.ts|[a-z]+\/)`/g)];
    expect(named.length).toBeGreaterThan(20);
    const missing = named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)));
    expect(missing.filter((path) => path !== 'logs/' && path !== 'keepers/')).toEqual([]);
  });
});

describe('the page of dependencies', () => {
  it('has one line for each package of package.json, and no other', () => {
    const { dependencies, devDependencies } = packageJson();
    const rows = [
      ...(textOf('docs/dependencies.md')
        .split('## Own code')[0]
        ?.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm) ?? []),
    ];
    expect(rows.map(([, name = '']) => name).sort()).toEqual([...dependencies, ...devDependencies].sort());
  });
});

describe('the repository', () => {
  it('holds no path of a machine and no host of a package registry', () => {
    const home = ['root', 'home/[a-z]+', 'Users/[a-z]+'].map((folder) => `/${folder}/`).join('|');
    const host = ['registry', 'npm'].map((word) => `${word}[.][a-z-]+[.](?:org|com|net|internal|local)`).join('|');
    const pattern = new RegExp(`(?<![\\w.])(?:${home})|/w[o]rk/(?:main|shared)|${host}|files[.]pythonhosted`);
    const found = repositoryFiles()
      .filter((path) => existsSync(join(ROOT, path)))
      .flatMap((path) => {
        const bytes = readFileSync(join(ROOT, path));
        if (bytes.includes(0)) return [];
        const line = bytes
          .toString('utf8')
          .split('\n')
          .find((text) => pattern.test(text));
        return line === undefined ? [] : [`${path}: ${line.slice(0, 200)}`];
      });
    expect(found).toEqual([]);
  });
});

function program(): Command {
  const stream = new PassThrough();
  const env = {};
  return createProgram(
    { stdout: stream, stderr: stream, env, cwd: ROOT },
    {
      env,
      cwd: ROOT,
      output: createOutput(stream, stream, false),
      interrupts: { handle: () => () => {}, raise: () => {}, asSignal: () => new AbortController().signal },
      action: () => async () => {},
    },
  );
}

/** Every command below the program, with its whole name. */
function commandsOf(
  parent: Command,
  prefix = 'longshore',
): readonly { readonly name: string; readonly command: Command }[] {
  return parent.commands.flatMap((command) => {
    const name = `${prefix} ${command.name()}`;
    return [{ name, command }, ...commandsOf(command, name)];
  });
}

/** The names of all properties in a JSON Schema. */
function keysOf(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((item: unknown) => keysOf(item));
  if (!isObject(schema)) return [];
  const own = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  return [...new Set([...own, ...Object.values(schema).flatMap((item) => keysOf(item))])];
}

function packageJson(): { readonly dependencies: readonly string[]; readonly devDependencies: readonly string[] } {
  const parsed: unknown = JSON.parse(textOf('package.json'));
  const names = (key: string): readonly string[] =>
    isObject(parsed) && isObject(parsed[key]) ? Object.keys(parsed[key]) : [];
  return { dependencies: names('dependencies'), devDependencies: names('devDependencies') };
}
