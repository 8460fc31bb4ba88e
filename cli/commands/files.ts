// `longshore files list | show | get`: the sandbox files of turns, from the file store alone.
import { resolve } from 'node:path';
import type { Command } from 'commander';

import type { FoundFile } from '../../worker/files.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { holdersOf, holderWords, stateWords, type FileHolder } from '../../shared/file-standing.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Hold } from '../../shared/holds.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { errorLines } from '../failure.ts';
import { fileDocument, findPath } from '../find-path.ts';
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
  const { listHolds, listManifests } = await import('../../worker/files.ts');
  const unreadable: LongshoreError[] = [];
  const which = id === undefined ? {} : { workflowId: id };
  const store = await storeOf(context);
  const manifests = await Array.fromAsync(
    listManifests(store, { ...which, onUnreadable: (error) => unreadable.push(error) }),
  );
  if (id !== undefined && manifests.length === 0) throw unreadable[0] ?? turnUnknown(id);
  const found = manifests.flatMap((manifest) => manifest.files.map((file) => ({ manifest, file })));
  for (const error of unreadable) for (const line of errorLines(error)) output.note(line);
  const holds = await listHolds(store);
  if (output.isJson) output.json(found.map((one) => fileDocument(one, holds)));
  else for (const line of listLines(found, holds)) output.line(line);
  return unreadable[0]?.exitCode ?? 0;
}

function listLines(found: readonly FoundFile[], holds: readonly Hold[]): readonly string[] {
  if (found.length === 0) return ['There are no sandbox files.'];
  const rows = found.map(({ manifest, file }) => [
    file.path,
    String(file.bytes),
    file.mediaType,
    stateWords(file),
    manifest.turn.workflowId,
    holdersOf(manifest, file, holds).map(shortWords).join('; '),
  ]);
  return table([['path', 'bytes', 'type', 'state', 'turn', 'kept by'], ...rows]);
}

function shortWords(holder: FileHolder): string {
  return holder.type === 'turn' ? `turn (${holder.turn})` : `hold of ${holder.by} on ${holder.target}`;
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
    .description('what is known of a file: size, hash, type, state, the call that made it, who holds it and why')
    .argument('<path>', 'its sandbox path', someValue)
    .option('--turn <id>', 'whose, for paths that results do not have', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (path: string, options: PathOptions) => {
        const store = await storeOf(context);
        const { listHolds } = await import('../../worker/files.ts');
        const found = await findPath(store, path, options.turn);
        const holds = await listHolds(store);
        const stored = (await store.statBlob(found.answer.sha256)) !== null;
        const heldBy = found.all.flatMap(({ manifest, file }) => holdersOf(manifest, file, holds));
        const shown = { ...fileDocument(found.first, holds), answeredBy: found.answer.path, stored };
        const { output } = context;
        if (output.isJson) return output.json({ ...shown, heldBy });
        const rows = Object.entries(shown)
          .filter(([key]) => key !== 'heldBy')
          .map(([key, value]) => [key, String(value ?? '')]);
        const kept = heldBy.length === 0 ? ['nobody: its retention counts'] : heldBy.map(holderWords);
        for (const line of table([...rows, ...kept.map((words) => ['heldBy', words])])) output.line(line);
        return undefined;
      }),
    );
  addExamples(show, ['longshore files show /sandbox/notes.md --turn turn-1b2c']);
}

function addGet(files: Command, context: CommandContext): void {
  const get = files
    .command('get')
    .description(
      'a file, whole and byte for byte, to standard output or to a file; of a superseded one the newer content',
    )
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
  const { listHolds } = await import('../../worker/files.ts');
  const { first, answer } = await findPath(store, path, options.turn);
  if (answer.path !== first.file.path) {
    output.note(`${first.file.path} was superseded: this is the newer content, ${answer.path}`);
  }
  if (options.output === undefined) {
    for await (const chunk of store.streamBlob(answer.sha256)) await output.write(chunk);
    return;
  }
  const target = resolve(cwd, options.output);
  await writeTarget(target, store.streamBlob(answer.sha256));
  const shown = { ...fileDocument(first, await listHolds(store)), answeredBy: answer.path, output: target };
  if (output.isJson) output.json(shown);
  else output.note(`${answer.bytes} bytes written to ${target}`);
}

async function storeOf(context: CommandContext): Promise<FileStore> {
  // Loaded when needed, as in the other commands.
  const [{ openProject }, { openStore }] = await Promise.all([import('../project.ts'), import('../store.ts')]);
  const project = await openProject(context);
  return openStore(project.home, context.env, project.config);
}
