// `write_file`: keeps a text of the agent's own under a path of its own choice, below /sandbox.
import { posix } from 'node:path';
import type { z } from 'zod';
import { RESULTS_FOLDER } from '../../shared/call-key.ts';
import { loadManifest } from '../store/manifest.ts';
import { SANDBOX_ROOT, type writeFileArguments } from './arguments.ts';
import { currentFiles, SandboxFault, type SandboxAnswer, type SandboxContext } from './files.ts';
import { clip, count, plural } from './text.ts';

/** The most that one call may write, in bytes of UTF-8. */
export const WRITE_MAX_BYTES = 1024 * 1024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.css': 'text/css',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.md': 'text/markdown',
  '.ndjson': 'application/x-ndjson',
  '.svg': 'image/svg+xml',
  '.tsv': 'text/tab-separated-values',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
};

/** Stores the content and names the file; the step's commit puts it into the manifest. */
export async function writeFile(
  args: z.output<typeof writeFileArguments>,
  context: SandboxContext,
): Promise<SandboxAnswer> {
  checkPath(args.path);
  const content = Buffer.from(args.content.toWellFormed());
  if (content.length > WRITE_MAX_BYTES) {
    throw new SandboxFault(
      `The content has ${plural(content.length, 'byte')}; write_file takes at most ${count(WRITE_MAX_BYTES)}. Write it in several files.`,
    );
  }
  const known = currentFiles(await loadManifest(context.store, context.turn)).map((file) => file.path);
  checkFolders(args.path, known);
  context.signal.throwIfAborted();
  const { sha256, bytes } = await context.store.putBlob(content);
  const mediaType = MEDIA_TYPES[posix.extname(args.path).toLowerCase()] ?? 'text/plain';
  const done = known.includes(args.path) ? 'Replaced' : 'Wrote';
  const text = `${done} ${args.path}: ${plural(bytes, 'byte')}. It can be read from the next step on.`;
  return { text, isError: false, written: [{ path: args.path, sha256, bytes, mediaType }] };
}

function checkPath(path: string): void {
  const segments = path.split('/').slice(1);
  const problem = !path.startsWith(`${SANDBOX_ROOT}/`)
    ? `is not below ${SANDBOX_ROOT}/`
    : path === RESULTS_FOLDER || path.startsWith(`${RESULTS_FOLDER}/`)
      ? `is below ${RESULTS_FOLDER}/, which holds the results of tools and cannot be written`
      : path.endsWith('/')
        ? 'names a folder, not a file'
        : // oxlint-disable-next-line no-control-regex -- these are what must not be in a name
          /[\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed()
          ? 'has characters that cannot be in a name'
          : segments.some((segment) => Buffer.byteLength(segment) > 200)
            ? 'has a name of over 200 bytes'
            : null;
  if (problem !== null) {
    throw new SandboxFault(
      `Nothing was written: ${JSON.stringify(clip(path, 200))} ${problem}. Choose a path such as ${SANDBOX_ROOT}/notes/plan.md.`,
    );
  }
}

// A file cannot lie below another file.
function checkFolders(path: string, known: readonly string[]): void {
  const clash = known.find((other) => path.startsWith(`${other}/`) || other.startsWith(`${path}/`));
  if (clash === undefined) return;
  throw new SandboxFault(
    `Nothing was written: ${clip(path, 200)} and the file ${clip(clash, 200)} cannot both be, since one would be a folder. Choose another path.`,
  );
}
