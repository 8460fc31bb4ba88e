// Watches what `longshore run` prints where no terminal is there to ask in, and starts a second process for each call that waits.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** Whom to ask, and where to print. */
export interface WaitingOptions {
  /** The folder that reports may be written to. */
  readonly reports: string;
  readonly env: NodeJS.ProcessEnv;
  /** The file descriptor that the second process prints to. */
  readonly printTo: 1 | 2;
  /** Called when a second process could not decide. */
  readonly onFailure: () => void;
}

/** Passes the output of a run on, and has every call that it waits for decided once. */
export function decideWhatWaits(run: ChildProcess, options: WaitingOptions): void {
  const asked = new Set<string>();
  let said = '';
  const look = (chunk: Buffer): void => {
    said += chunk.toString('utf8');
    // The address comes last: all ids of this moment stand before it.
    const [, address, namespace] = /on the Temporal server (\S+), namespace (\S+)\./.exec(said) ?? [];
    if (address === undefined || namespace === undefined) return;
    const ids = [...said.matchAll(/approvals show (\S+)/g)].map(([, id = '']) => id);
    said = said.slice(said.lastIndexOf('namespace '));
    for (const id of ids.filter((one) => !asked.has(one))) {
      asked.add(id);
      startApprover(id, {
        ...options,
        env: { ...options.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
      });
    }
  };
  passOn(run.stdout, process.stdout, look);
  passOn(run.stderr, process.stderr, look);
}

function passOn(from: Readable | null, to: Writable, look: (chunk: Buffer) => void): void {
  if (!from) return;
  from.on('data', look);
  from.pipe(to, { end: false });
  // A reader that left: the run hears of it, as if it printed there itself.
  to.on('error', () => from.destroy());
}

function startApprover(id: string, { reports, env, printTo, onFailure }: WaitingOptions): void {
  const script = fileURLToPath(new URL('./approver.ts', import.meta.url));
  const approver = spawn(process.execPath, [script, id, reports], { stdio: ['ignore', printTo, 2], env });
  approver.once('error', onFailure);
  approver.once('exit', (code) => {
    if (code !== 0) onFailure();
  });
}
