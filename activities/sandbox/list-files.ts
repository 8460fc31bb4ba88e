// `list_files`: the turn's files by path, with size, type and the call that made each; a page at a time.
import type { z } from 'zod';
import type { ManifestFile } from '../../shared/manifest.ts';
import { loadManifest } from '../store/manifest.ts';
import type { listFilesArguments } from './arguments.ts';
import { currentFiles, type SandboxAnswer, type SandboxContext } from './files.ts';
import { itemsThatFit } from './fit.ts';
import { clip, count, plural } from './text.ts';

// What the first line and the last may cost, in tokens: a path can be long.
const FRAME_TOKENS = 200;

/** Lists the files whose path begins with `prefix` and comes after `after`. */
export async function listFiles(
  args: z.output<typeof listFilesArguments>,
  context: SandboxContext,
): Promise<SandboxAnswer> {
  const all = currentFiles(await loadManifest(context.store, context.turn));
  const matching = all.filter((file) => file.path.startsWith(args.prefix));
  const rest = matching.filter((file) => file.path > args.after);
  const lines = rest.map((file) => describe(file));
  // One file at least, or the list would never get on.
  const shown = Math.max(1, await itemsThatFit(lines, context.perResultTokens - FRAME_TOKENS));
  const last = rest[shown - 1];
  const more =
    last && shown < rest.length
      ? [`[${plural(rest.length - shown, 'more file')}: list_files after ${JSON.stringify(last.path)}]`]
      : [];
  return {
    text: [summary(args.prefix, all.length, matching.length), ...lines.slice(0, shown), ...more].join('\n'),
    isError: false,
  };
}

function summary(prefix: string, all: number, matching: number): string {
  if (all === 0) return 'This turn has no files yet.';
  if (prefix === '') return `${plural(all, 'file')}:`;
  return `${count(matching)} of ${plural(all, 'file')} below ${clip(prefix, 120)}${matching > 0 ? ':' : '.'}`;
}

function describe(file: ManifestFile): string {
  return `${file.path}  ${plural(file.bytes, 'byte')}  ${file.mediaType}  by ${file.server}/${file.tool} (${file.callKey})`;
}
