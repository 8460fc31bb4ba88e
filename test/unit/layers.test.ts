// Who may import whom, as the architecture's section 4 says; no cycles; files and Workflow code as the style asks.
import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from '../support/source-files.ts';

const files = sourceFiles();
const byPath = new Map(files.map((file) => [file.path, file]));
const inFolder = (folder: string): readonly SourceFile[] => files.filter((file) => file.folder === folder);

/** Folders of this repository that a layer may use, and packages that it may not. */
const LAYERS: Readonly<Record<string, { readonly folders: readonly string[]; readonly never: RegExp }>> = {
  shared: { folders: ['shared'], never: /^(node:|@temporalio\/|@modelcontextprotocol\/|js-tiktoken|longshore)/ },
  workflows: { folders: ['workflows', 'shared'], never: /^(?!@temporalio\/(workflow|common)$)/ },
  activities: { folders: ['activities', 'shared'], never: /^@temporalio\/(?!activity$|common)|^longshore/ },
  worker: { folders: ['worker', 'workflows', 'activities', 'shared'], never: /^longshore/ },
  client: { folders: ['client', 'shared'], never: /^@temporalio\/(?!client$|common|proto$)|^longshore/ },
  cli: { folders: ['cli', 'client', 'worker', 'shared'], never: /^longshore/ },
  testing: { folders: ['testing', 'worker', 'shared'], never: /^longshore|^vitest/ },
};

describe('layers', () => {
  it('[STRUCT-1] has a rule for every folder with code of the product', () => {
    const known = [...Object.keys(LAYERS), 'bench', 'examples', 'test', ''];
    expect([...new Set(files.map((file) => file.folder))].filter((folder) => !known.includes(folder))).toEqual([]);
    for (const folder of Object.keys(LAYERS)) expect(inFolder(folder).length).toBeGreaterThan(0);
  });

  it.each(Object.entries(LAYERS))('[STRUCT-1] %s imports only what it may', (folder, { folders, never }) => {
    const wrong = inFolder(folder).flatMap((file) => [
      ...file.local
        .filter((path) => !folders.includes(path.split('/')[0] ?? ''))
        .map((path) => `${file.path} → ${path}`),
      ...file.packages.filter((name) => never.test(name)).map((name) => `${file.path} → ${name}`),
    ]);
    expect(wrong).toEqual([]);
  });

  it('[STRUCT-1] examples use the public entries only, as a user does', () => {
    const entries = ['worker/index.ts', 'workflows/index.ts', 'client/index.ts', 'testing/index.ts'];
    const isOwn = (path: string): boolean => path.startsWith('examples/') || entries.includes(path);
    const wrong = inFolder('examples').flatMap((file) =>
      file.local.filter((path) => !isOwn(path)).map((path) => `${file.path} → ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('[STRUCT-1] benchmarks stand apart from tests and examples', () => {
    // They measure parts that no entry exports, so that only this much holds of them.
    const wrong = inFolder('bench').flatMap((file) =>
      file.local.filter((path) => /^(test|examples)\//.test(path)).map((path) => `${file.path} → ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('[STRUCT-1] no product code imports tests, benchmarks or examples', () => {
    const product = files.filter((file) => file.folder in LAYERS);
    const wrong = product.filter((file) => file.local.some((path) => /^(test|bench|examples)\//.test(path)));
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  it('[STRUCT-2] has no import cycle', () => {
    expect(cycles()).toEqual([]);
  });

  it('[STRUCT-2] leads every relative import to a file, by its .ts name', () => {
    const wrong = files.flatMap((file) =>
      file.local.filter((path) => path.endsWith('.ts') && !byPath.has(path)).map((path) => `${file.path} → ${path}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('files', () => {
  it('[STRUCT-3] open with a comment that says what they are for', () => {
    expect(files.filter((file) => !/^(#!.*\n)?\s*(\/\/|\/\*)/.test(file.text)).map((file) => file.path)).toEqual([]);
  });

  it('[STRUCT-3] have neither a default export, but in configuration, nor `export *`', () => {
    const config = /(^|\/)(temporal|vitest)\.config\.ts$/;
    const code = files.filter((file) => !config.test(file.path));
    expect(code.filter((file) => /^export (default|\*)/m.test(file.text)).map((file) => file.path)).toEqual([]);
  });

  it('[STRUCT-4] of Workflow code and what it imports use no clock of their own, no chance, no I/O', () => {
    const seen = reachedFrom('workflows/index.ts', 'local');
    expect(seen.size).toBeGreaterThan(10);
    const impure = /\b(Math\.random|fetch|setTimeout|setInterval|process|Buffer|require)\s*[.(]|\bnew Date\(\)/;
    const wrong = [...seen].filter((path) => {
      const code = (byPath.get(path)?.text ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      return impure.test(code) || byPath.get(path)?.packages.some((name) => name.startsWith('node:'));
    });
    expect(wrong).toEqual([]);
  });

  it('[STRUCT-9] that all Workflows of a Worker share keep nothing in their modules', () => {
    const isStateful = (path: string): boolean =>
      /^(export )?(let |(const|static) .*(= new (Map|Set|WeakMap)\b|= \[\];))/m.test(byPath.get(path)?.text ?? '');
    const shared = reachedFrom('workflows/preload.ts', 'loads');
    expect([...shared].filter(isStateful)).toEqual([]);
    const alone = [...reachedFrom('workflows/index.ts', 'loads')].filter((path) => !shared.has(path));
    expect(alone.filter(isStateful).length).toBeGreaterThan(0);
    expect(alone.length).toBeLessThan(15);
  });
});

/** A file and all that it imports, itself or by others. */
function reachedFrom(path: string, by: 'local' | 'loads', seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const next of byPath.get(path)?.[by] ?? []) reachedFrom(next, by, seen);
  return seen;
}

/** Every cycle once, as a path that ends where it began. */
function cycles(): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) {
      found.push([...trail.slice(at), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const next of byPath.get(path)?.local ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const file of files) walk(file.path, []);
  return found;
}
