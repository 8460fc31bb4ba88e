// The one tool of the comparison: a page of text of a given size, no two alike, or a file.
import { readFileSync } from 'node:fs';
import type { ToolPayload } from './system-process.ts';

const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];

/** What the tool answers for a page of a run; another run's pages differ, or a store that knows them would keep nothing. */
export function pageOf({ id, payload }: { readonly id: string; readonly payload: ToolPayload }, page: number): string {
  if ('file' in payload) return readFileSync(payload.file, 'utf8');
  const line = `${id.slice(-6)} ${page} ${words.map((word, index) => word + ((page * 7 + index) % 100)).join(' ')}\n`;
  return line.repeat(Math.ceil(payload.bytes / line.length)).slice(0, payload.bytes);
}
