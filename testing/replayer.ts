// One replay Worker for all histories that are replayed with the same Workflows, one after the other. Each Worker of the SDK leaves its
// parsed source map in WebAssembly's memory for the life of the process: some 700 of them fill its 4 GB (SDK 1.24, tried).
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';

/** What a Worker is made of. */
export type ReplayerOptions = Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath' | 'dataConverter'>;

/** A Worker that has had nothing to do for this long ends, so that it keeps no process alive, in milliseconds. */
const IDLE_MS = 200;

interface Job {
  readonly history: History;
  readonly workflowId: string;
}

const replayers = new Set<Replayer>();

/** Replays a history. Rejects with what the SDK says of it. */
export function replayHistory(job: Job, options: ReplayerOptions): Promise<void> {
  let replayer = [...replayers].find((one) => one.isFor(options));
  if (!replayer) {
    replayer = new Replayer(options);
    replayers.add(replayer);
  }
  return replayer.replay(job);
}

class Replayer {
  private readonly options: ReplayerOptions;
  private readonly results: ReturnType<typeof Worker.runReplayHistories>;
  /** What the Worker takes next; undefined ends it. */
  private next = Promise.withResolvers<Job | undefined>();
  private last: Promise<void> = Promise.resolve();
  private pending = 0;
  private idle: NodeJS.Timeout | undefined;

  constructor(options: ReplayerOptions) {
    this.options = options;
    this.results = Worker.runReplayHistories(options, this.jobs());
  }

  isFor({ workflowBundle, workflowsPath, dataConverter }: ReplayerOptions): boolean {
    const own = this.options;
    const isSameCode = own.workflowsPath === workflowsPath && sourceOf(own.workflowBundle) === sourceOf(workflowBundle);
    return isSameCode && own.dataConverter === dataConverter;
  }

  /** After those that came before. */
  replay(job: Job): Promise<void> {
    clearTimeout(this.idle);
    this.pending += 1;
    const replayed = this.last.then(() => this.run(job)).finally(() => this.rest());
    // Its failure is the caller's, and no reason not to replay the next one.
    this.last = replayed.catch(() => {});
    return replayed;
  }

  private async *jobs(): AsyncGenerator<Job> {
    for (let job = await this.next.promise; job; job = await this.next.promise) {
      this.next = Promise.withResolvers();
      yield job;
    }
  }

  private async run(job: Job): Promise<void> {
    this.next.resolve(job);
    const { done, value } = await this.results.next().catch((error: unknown) => {
      replayers.delete(this);
      throw error;
    });
    if (done) throw new Error('The replay Worker has ended');
    if (value.error) throw value.error;
  }

  private rest(): void {
    this.pending -= 1;
    if (this.pending > 0) return;
    this.idle = setTimeout(() => {
      replayers.delete(this);
      this.next.resolve(undefined);
      // It has given all its results; how it ends concerns nobody.
      this.results.next().catch(() => {});
    }, IDLE_MS);
  }
}

function sourceOf(bundle: ReplayerOptions['workflowBundle']): string | undefined {
  if (bundle === undefined) return undefined;
  return 'codePath' in bundle ? bundle.codePath : bundle.code;
}
