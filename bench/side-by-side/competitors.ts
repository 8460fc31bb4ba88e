// The competitors' packages: installed beside their programs, by their own lock file, and never by the package itself.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('./competitors', import.meta.url));

/** Runs `npm ci` where the packages are missing. No install script runs: nothing here needs one. */
export async function installCompetitors(log: (line: string) => void): Promise<void> {
  if (existsSync(join(folder, 'node_modules', 'deepagents'))) return;
  log('Installing the competitors (npm ci in bench/side-by-side/competitors)');
  await promisify(execFile)(process.execPath, [npmProgram(), 'ci', '--ignore-scripts'], { cwd: folder });
}

/** npm's own program, to be run by this Node: `npm` on the PATH may belong to an older one. */
function npmProgram(): string {
  const given = process.env['npm_execpath'];
  if (given) return given;
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((path) => join(path, 'npm'))
    .find((path) => existsSync(path));
  if (!found) throw new Error('There is no npm on the PATH.');
  return realpathSync(found);
}

/** Versions of what is compared, from the installed packages. */
export function versions(): readonly (readonly [name: string, version: string])[] {
  const root = join(dirname(folder), '..', '..');
  const own = ['@temporalio/worker', '@ai-sdk/openai-compatible'].map(
    (name) => [`${name} (Longshore, bare)`, versionOf(root, name)] as const,
  );
  const theirs = [
    '@temporalio/ai-sdk',
    '@temporalio/worker',
    'ai',
    'deepagents',
    'langchain',
    '@langchain/core',
    '@langchain/langgraph',
    '@langchain/langgraph-checkpoint-sqlite',
    '@langchain/openai',
  ];
  return [
    ['node', process.version],
    ['longshore', packageVersion(join(root, 'package.json'))],
    ...own,
    ...theirs.map(
      (name) => [name === '@temporalio/worker' ? `${name} (ai-sdk)` : name, versionOf(folder, name)] as const,
    ),
  ];
}

function versionOf(root: string, name: string): string {
  return packageVersion(join(root, 'node_modules', name, 'package.json'));
}

function packageVersion(path: string): string {
  // npm refuses a package without a version.
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
  return version;
}
