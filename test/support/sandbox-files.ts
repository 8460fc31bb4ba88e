// A turn with files in a real local store, for tests of the sandbox's tools.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callSandboxTool, type SandboxAnswer, type SandboxContext } from '../../activities/sandbox/server.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { updateManifest } from '../../activities/store/manifest.ts';
import type { FileFacts } from '../../shared/facts.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { JsonObject } from '../../shared/json.ts';

/** The turn's files, and a way to call the tools on them. */
export interface SandboxFiles {
  readonly store: FileStore;
  readonly folder: string;
  readonly context: SandboxContext;
  /** Puts a file into the store and the turn's manifest. */
  add(path: string, content: string | Uint8Array, mediaType?: string): Promise<FileFacts>;
  /** Puts a file of an installed package there: `caniuse-db/data.json`. */
  addPackageFile(path: string, file: string, mediaType?: string): Promise<Buffer>;
  /** Calls a tool. @default of `perResultTokens` 6000 */
  call(tool: string, args: JsonObject, perResultTokens?: number, signal?: AbortSignal): Promise<SandboxAnswer>;
  remove(): Promise<void>;
}

/** Makes an empty turn in a folder of its own. */
export async function sandboxFiles(): Promise<SandboxFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-sandbox-'));
  const store = createLocalStore({ folder, namespace: 'test' });
  const turn = { workflowId: 'turn', session: 'session', turn: 1 };
  const context = { store, turn, perResultTokens: 6000, signal: new AbortController().signal };
  const files: SandboxFiles = {
    store,
    folder,
    context,
    async add(path, content, mediaType = 'text/plain') {
      const blob = await store.putBlob(typeof content === 'string' ? Buffer.from(content) : content);
      const facts = { path, ...blob, mediaType };
      const made = {
        state: 'pinned',
        callKey: 't1/0/0',
        server: 'fs',
        tool: 'read_text_file',
        origin: 'turn',
      } as const;
      await updateManifest(store, turn, (manifest) => ({
        ...manifest,
        files: [...manifest.files, { ...facts, ...made }],
      }));
      return facts;
    },
    async addPackageFile(path, file, mediaType) {
      const content = await readFile(packageFile(file));
      await files.add(path, content, mediaType);
      return content;
    },
    call: (tool, args, perResultTokens = 6000, signal = context.signal) =>
      callSandboxTool(tool, args, { ...context, perResultTokens, signal }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
  return files;
}

/** Where an installed package's file lies. */
export function packageFile(file: string): URL {
  return new URL(`../../node_modules/${file}`, import.meta.url);
}

/** The file's content in an answer of `read_file`: everything below its first line. */
export function contentOf(answer: SandboxAnswer): string {
  return answer.text.slice(answer.text.indexOf('\n') + 1);
}

/** Where an answer of `read_file` says to go on, or null at the end. */
export function nextOf(answer: SandboxAnswer): JsonObject | null {
  const header = answer.text.slice(0, answer.text.indexOf('\n'));
  const bytes = /offset_bytes (\d+)/.exec(header);
  if (bytes) return { offset_bytes: Number(bytes[1]) };
  const line = /start_line (\d+)/.exec(header);
  return line ? { start_line: Number(line[1]) } : null;
}
