// What the processes of the comparison say to each other, and the side of a system: it takes runs and answers with outcomes.
// Imports nothing but Node, since the competitors' own packages stand beside it.
import { mkdirSync } from 'node:fs';

/** What the one tool of a run answers. */
export type ToolPayload = { readonly bytes: number } | { readonly file: string };

/** A run that a system is asked for. */
export interface RunRequest {
  readonly id: string;
  /** The model's name; the scripted model tells runs apart by it. */
  readonly model: string;
  readonly payload: ToolPayload;
  /** The system gives up after this long and tells what it found. */
  readonly limitMs: number;
}

/** How a run ended. */
export interface RunOutcome {
  readonly ended: 'completed' | 'died' | 'timeout';
  /** The system's own words, where it did not complete. */
  readonly how: string;
  /** History, or checkpoints. */
  readonly recordBytes: number;
  /** Events of the history, or rows of checkpoints and writes. */
  readonly events: number;
  /** What was kept outside of the record: a file store. */
  readonly elsewhereBytes: number;
}

/** An outcome with the CPU time of the system's process, whole, at the run's begin and end. */
export interface RunReply extends RunOutcome {
  readonly id: string;
  readonly cpuMs: readonly [number, number];
  readonly peakMemoryBytes: number;
}

/** Where a system works; its first argument on the command line, as JSON. */
export interface SystemSetting {
  /** Of the Temporal server. */
  readonly address: string;
  /** Of the scripted model. */
  readonly baseUrl: string;
  /** A folder of its own. */
  readonly folder: string;
}

/** This process's setting; its folder exists. */
export function settingOfProcess(): SystemSetting {
  // The argument is written by `startSystem`.
  const setting = JSON.parse(process.argv[2] ?? '{}') as SystemSetting;
  mkdirSync(setting.folder, { recursive: true });
  return setting;
}

/** Answers runs, several at a time, until the parent lets go. */
export function serveRuns(run: (request: RunRequest) => Promise<RunOutcome>): void {
  const answer = async (request: RunRequest): Promise<void> => {
    const began = cpuMs();
    const outcome = await run(request).catch((error: unknown) => failed(error));
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    process.send?.({ ...outcome, id: request.id, cpuMs: [began, cpuMs()], peakMemoryBytes });
  };
  process.on('message', (request: RunRequest) => void answer(request));
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
}

/** The messages of an error and its causes, on one line. */
export function wordsOf(error: unknown): string {
  const words: string[] = [];
  for (let one = error; one instanceof Error && words.length < 5; one = one.cause) {
    if (!words.includes(one.message)) words.push(one.message);
  }
  return words.join(' ← ').replaceAll(/\s+/g, ' ').slice(0, 400);
}

function failed(error: unknown): RunOutcome {
  return { ended: 'died', how: wordsOf(error), recordBytes: 0, events: 0, elsewhereBytes: 0 };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
