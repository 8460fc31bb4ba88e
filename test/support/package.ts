// The package as a user gets it: packed from a copy of the sources, and installed into an empty project.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { PROJECT } from './cli.ts';

/** An empty project that has the package installed. */
export interface InstalledPackage {
  /** Holds everything; remove it in the end. */
  readonly folder: string;
  /** The project. */
  readonly project: string;
  /** The files of the tarball, without its leading folder. */
  readonly files: readonly string[];
}

/** What a build and a tarball are made of; the folders of the sources are those of tsconfig.build.json. */
const SOURCES = ['workflows', 'activities', 'worker', 'client', 'cli', 'shared', 'testing', 'docs'];

/** Packs the working tree, without writing into it, and installs the tarball; takes about a minute. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-package-'));
  const copy = join(folder, 'copy');
  const project = join(folder, 'project');
  for (const name of await readdir(PROJECT)) {
    if (SOURCES.includes(name) || /\.(json|md)$|^LICENSE/.test(name)) {
      await cp(join(PROJECT, name), join(copy, name), { recursive: true });
    }
  }
  await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  const packed = await npm(copy, 'pack', '--json', '--silent', '--pack-destination', folder);
  // npm prints one document, after what the build prints.
  const document = packed.slice(packed.search(/^\[$/m));
  const [tarball] = JSON.parse(document) as readonly { filename: string; files: readonly { path: string }[] }[];
  if (tarball === undefined) throw new Error(`npm pack told of no tarball: ${packed}`);
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }));
  await npm(project, 'install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, tarball.filename));
  return { folder, project, files: tarball.files.map(({ path }) => path) };
}

/** This process's environment with its Node first, and without what an `npm` above it has set. */
export function packageEnv(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const strange = /^(npm_(?!config_(registry|cache|userconfig)$)|TEMPORAL_|OPENAI_|VITEST|NODE_ENV$|NODE_OPTIONS$)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name)));
  return { ...env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter), ...extra };
}

async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', args, { cwd, env: packageEnv(), maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
