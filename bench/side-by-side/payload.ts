// The one tool of the comparison: a page of text of a given size, no two alike, or a file.
import { readFileSync } from 'node:fs';
import type { ToolPayload } from './system-process.ts';

const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];

/** What the tool answers for a page. */
export function pageOf(payload: ToolPayload, page: number): string {
  if ('file' in payload) return readFileSync(payload.file, 'utf8');
  const line = `${page} ${words.map((word, index) => word + ((page * 7 + index) % 100)).join(' ')}\n`;
  return line.repeat(Math.ceil(payload.bytes / line.length)).slice(0, payload.bytes);
}
