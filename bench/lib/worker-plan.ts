// What a whole Worker of the benchmark is made of, handed over in a variable of its environment.
import type { McpServerConfig } from '../../shared/mcp-config.ts';

/** The variable with the Worker's plan. */
export const WORKER_PLAN = 'LONGSHORE_BENCH_WORKER';

/** What the Worker is made of. */
export interface WholeWorkerPlan {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly storeFolder: string;
  readonly modelUrl: string;
  /** The address of the package's folder: built, or the sources. */
  readonly root: string;
  readonly extension: 'js' | 'ts';
  /** Its tool servers. @default `size`, of `size-server.ts` */
  readonly servers?: Readonly<Record<string, McpServerConfig>>;
}
