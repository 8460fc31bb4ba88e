// The project's own source files and what they import, for tests of its structure.
import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { preProcessFile } from 'typescript';

/** The repository's folder, absolute. */
export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

/** A source file with its imports. */
export interface SourceFile {
  /** From the repository's folder, as in `shared/json.ts`. */
  readonly path: string;
  /** The first folder of the path; empty for files that stand in none. */
  readonly folder: string;
  readonly text: string;
  /** Of files of this repository, by their paths. */
  readonly local: readonly string[];
  /** Of these, what is loaded with the file: all that is not imported for its types alone. */
  readonly loads: readonly string[];
  /** Of packages and Node's modules, as written. */
  readonly packages: readonly string[];
}

/** All TypeScript files that belong to the project. */
export function sourceFiles(): readonly SourceFile[] {
  const folders = '{activities,bench,cli,client,examples,shared,test,testing,worker,workflows}';
  const paths = globSync([`${folders}/**/*.ts`, '*.ts'], { cwd: ROOT, exclude: ['**/node_modules/**'] });
  return paths.map((path) => read(path.replaceAll('\\', '/'))).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function read(path: string): SourceFile {
  const text = readFileSync(resolve(ROOT, path), 'utf8');
  const names = namesIn(text);
  const isLocal = (name: string): boolean => name.startsWith('.');
  const localOf = (all: readonly string[]): readonly string[] =>
    all.filter(isLocal).map((name) => relative(ROOT, resolve(ROOT, dirname(path), name)).replaceAll('\\', '/'));
  return {
    path,
    folder: path.includes('/') ? (path.split('/')[0] ?? '') : '',
    text,
    local: localOf(names),
    loads: localOf(namesIn(text.replace(/^(import|export) type [^;]*;/gm, ''))),
    packages: names.filter((name) => !isLocal(name)),
  };
}

function namesIn(text: string): readonly string[] {
  return preProcessFile(text, true, true).importedFiles.map((file) => file.fileName);
}
