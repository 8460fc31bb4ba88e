// `longshore files list | show | get`: the sandbox files of turns, from the file store alone.
import { resolve } from 'node:path';
import type { Command } from 'commander';

import type { FoundFile } from '../../worker/files.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { errorLines } from '../failure.ts';
import { someId, someValue } from '../option-values.ts';
import { registerKeeping } from './files-keep.ts';
import { table } from '../output.ts';
import { writeTarget } from '../write-target.ts';

/** Adds `files list [ID]`, `files show PATH`, `files get PATH`. */
export function registerFiles(program: Command, context: CommandContext): void {
  const files = program.command('files').description('list, inspect and fetch sandbox files');
  addExamples(files, [
    'longshore files list turn-1b2c',
    'longshore files get /sandbox/tool-results/t1.0.0-read_file-0123456789abcdef.json -o data.json',
  ]);
  addList(files, context);
  addShow(files, context);
  addGet(files, context);
  registerKeeping(files, context);
}

interface PathOptions {
  readonly turn?: string;
  readonly output?: string;
}

function addList(files: Command, context: CommandContext): void {
  const list = files
    .command('list')
    .description('the sandbox files of one turn, or of all')
    .argument('[id]', 'the turn', someId)
    .option('--json', 'print one JSON document')
    .action(context.action((id?: string) => printList(id, context)));
  addExamples(list, ['longshore files list', 'longshore files list turn-1b2c --json']);
}

/** One damaged manifest does not hide the others: it is told, and makes the exit code 1. */
async function printList(id: string | undefined, context: CommandContext): Promise<number> {
  const { output } = context;
  const { listManifests } = await import('../../worker/files.ts');
  const unreadable: LongshoreError[] = [];
  const which = id === undefined ? {} : { workflowId: id };
  const store = await storeOf(context);
  const manifests = await Array.fromAsync(
    listManifests(store, { ...which, onUnreadable: (error) => unreadable.push(error) }),
  );
  if (id !== undefined && manifests.length === 0) throw unreadable[0] ?? turnUnknown(id);
  const found = manifests.flatMap((manifest) => manifest.files.map((file) => ({ manifest, file })));
  for (const error of unreadable) for (const line of errorLines(error)) output.note(line);
  if (output.isJson) output.json(found.map(document));
  else for (const line of listLines(found)) output.line(line);
  return unreadable[0]?.exitCode ?? 0;
}

function listLines(found: readonly FoundFile[]): readonly string[] {
  if (found.length === 0) return ['There are no sandbox files.'];
  const rows = found.map(({ manifest, file }) => [
    file.path,
    String(file.bytes),
    file.mediaType,
    file.state,
    manifest.turn.workflowId,
  ]);
  return table([['path', 'bytes', 'type', 'state', 'turn'], ...rows]);
}

function turnUnknown(id: string): LongshoreError {
  return new LongshoreError(
    'TurnNotFound',
    `The file store knows no turn \`${id}\``,
    'See those it knows with `longshore files list`.',
  );
}

function addShow(files: Command, context: CommandContext): void {
  const show = files
    .command('show')
    .description('what is known of a file: size, hash, type, state, the call that made it')
    .argument('<path>', 'its sandbox path', someValue)
    .option('--turn <id>', 'whose, for paths that results do not have', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (path: string, options: PathOptions) => {
        const store = await storeOf(context);
        const found = await findOne(store, path, options.turn);
        const stored = (await store.statBlob(found.file.sha256)) !== null;
        const { output } = context;
        if (output.isJson) return output.json({ ...document(found), stored });
        const rows = Object.entries({ ...document(found), stored }).map(([key, value]) => [key, String(value)]);
        for (const line of table(rows)) output.line(line);
        return undefined;
      }),
    );
  addExamples(show, ['longshore files show /sandbox/notes.md --turn turn-1b2c']);
}

function addGet(files: Command, context: CommandContext): void {
  const get = files
    .command('get')
    .description('a file, whole and byte for byte, to standard output or to a file')
    .argument('<path>', 'its sandbox path', someValue)
    .option('-o, --output <file>', 'where to write it; an existing file is replaced when all is there', someValue)
    .option('--turn <id>', 'whose, for paths that results do not have', someId)
    .option('--json', 'print one JSON document about the file written with -o')
    .action(context.action((path: string, options: PathOptions) => fetchFile(path, options, context)));
  addExamples(get, ['longshore files get /sandbox/tool-results/t1.0.0-read_file-0123456789abcdef.json -o data.json']);
}

async function fetchFile(path: string, options: PathOptions, context: CommandContext): Promise<void> {
  const { output, cwd } = context;
  if (output.isJson && options.output === undefined) {
    throw new LongshoreError(
      'UsageInvalid',
      '`files get --json` would mix the file with a document',
      'Give -o FILE too, or leave --json out.',
    );
  }
  const store = await storeOf(context);
  const found = await findOne(store, path, options.turn);
  if (options.output === undefined) {
    for await (const chunk of store.streamBlob(found.file.sha256)) await output.write(chunk);
    return;
  }
  const target = resolve(cwd, options.output);
  await writeTarget(target, store.streamBlob(found.file.sha256));
  if (output.isJson) output.json({ ...document(found), output: target });
  else output.note(`${found.file.bytes} bytes written to ${target}`);
}

async function findOne(store: FileStore, path: string, turn: string | undefined): Promise<FoundFile> {
  const { findFile } = await import('../../worker/files.ts');
  const found = await findFile(store, path, turn === undefined ? {} : { workflowId: turn });
  const [first] = found;
  if (!first) {
    const whose = turn === undefined ? 'any turn' : `turn \`${turn}\``;
    throw new LongshoreError(
      'FileNotFound',
      `There is no sandbox file \`${path}\` in ${whose}`,
      'See what there is with `longshore files list`.',
    );
  }
  const contents = new Set(found.map(({ file }) => file.sha256));
  if (contents.size > 1) {
    const turns = found.map(({ manifest }) => manifest.turn.workflowId).join(', ');
    throw new LongshoreError(
      'UsageInvalid',
      `\`${path}\` has other contents in each of these turns: ${turns}`,
      'Say whose with --turn ID.',
    );
  }
  return first;
}

function document({ manifest, file }: FoundFile): Record<string, unknown> {
  const { path, bytes, sha256, mediaType, state, callKey, server, tool } = file;
  const { workflowId, session } = manifest.turn;
  return { path, bytes, sha256, mediaType, state, workflowId, session, callKey, server, tool };
}

async function storeOf(context: CommandContext): Promise<FileStore> {
  // Loaded when needed, as in the other commands.
  const [{ openProject }, { openStore }] = await Promise.all([import('../project.ts'), import('../store.ts')]);
  const project = await openProject(context);
  return openStore(project.home, context.env, project.config);
}
