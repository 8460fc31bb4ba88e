// Systems beside Longshore on a catalog, each in a process of its own that takes one run after another.
import { fork } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { RunReply } from '../side-by-side/system-process.ts';

/** The systems: they hand all tools to the model. */
export const RIVALS = { 'ai-sdk': 'catalog-ai-sdk.mjs', deepagents: 'catalog-deepagents.mjs' } as const;
export type RivalName = keyof typeof RIVALS;

const LIMIT_MS = 180_000;

/** A running system. */
export interface Rival {
  /** Runs to the end; raises an error in the system's words where it did not complete. */
  readonly run: (model: string, text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts one. */
export async function startRival(
  name: RivalName,
  setting: {
    readonly baseUrl: string;
    readonly folder: string;
    readonly server: { readonly command: string; readonly args: readonly string[] };
  },
): Promise<Rival> {
  await mkdir(setting.folder, { recursive: true });
  const program = fileURLToPath(new URL(`../side-by-side/competitors/${RIVALS[name]}`, import.meta.url));
  const child = fork(program, [JSON.stringify({ ...setting, address: '' })], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`${name} ended with ${String(code)}`));
      child.once('exit', onExit);
      child.once('message', (message) => {
        child.off('exit', onExit);
        resolve(message);
      });
    });
  await next();
  return {
    async run(model, text) {
      const reply = next();
      child.send({ id: model, model, text, limitMs: LIMIT_MS, payload: { bytes: 0 } });
      // `serveRuns` sends nothing else.
      const { ended, how } = (await reply) as RunReply;
      if (ended !== 'completed') throw new Error(`${name}: ${how}`);
    },
    async close() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await gone;
    },
  };
}
