// Reads the pages for people: their snippets with the file each is marked to come from, their links, their headings.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced snippet of a page. */
export interface Snippet {
  readonly page: string;
  readonly language: string;
  readonly code: string;
  /** What the comment above it names; null where there is none. */
  readonly source: string | null;
}

/** A link to something in the repository. */
export interface PageLink {
  readonly page: string;
  readonly target: string;
  /** Of the repository. */
  readonly path: string;
  /** Behind the `#`, or empty. */
  readonly anchor: string;
}

/** The pages for people, as paths in the repository. */
export function pages(): readonly string[] {
  return ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })].map((path) =>
    path.replaceAll('\\', '/'),
  );
}

/** A file of the repository as text. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every snippet of a page. */
export function snippetsOf(page: string, text: string): readonly Snippet[] {
  const fence = /(?:<!-- from (\S+) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm;
  return [...text.matchAll(fence)].map(([, source = null, language = '', code = '']) => {
    return { page, language, code, source };
  });
}

/** Every link of a page that does not lead out of the repository. */
export function linksOf(page: string, text: string): readonly PageLink[] {
  const prose = withoutSnippets(text);
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file = '', anchor = ''] = target.split('#');
    return [{ page, target, path: file === '' ? page : join(dirname(page), file), anchor }];
  });
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(text: string): readonly string[] {
  return [...withoutSnippets(text).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The text below a heading, up to the next heading; null where there is no such heading. */
export function sectionOf(text: string, title: string): string | null {
  const parts = text.split(/^#+ (.*)$/m);
  const index = parts.findIndex((part, position) => position % 2 === 1 && part === title);
  return index < 0 ? null : (parts[index + 1] ?? '');
}

/** Every committed file, and every new one that is not ignored. */
export function repositoryFiles(): readonly string[] {
  const output = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  return output.toString('utf8').split('\0').filter(Boolean);
}

function withoutSnippets(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}
