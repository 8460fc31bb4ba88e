// What the Activities work with, made once a Worker.
import type { LocalServer } from './mcp/local.ts';
import type { McpPool } from './mcp/pool.ts';
import type { TemporalView } from './retention/temporal-view.ts';
import type { LongshoreHooks } from '../shared/hooks.ts';
import type { LongshoreConfig } from '../shared/config.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { AskModel } from '../shared/model.ts';

/** What a sweep goes by. */
export interface RetentionDependencies {
  /** Milliseconds since 1970. @default the earlier one of the Worker's and Temporal's clocks */
  readonly now?: () => number;
  /** @default the view of the Worker's own Client */
  readonly temporal?: () => TemporalView;
}

/** Everything an Activity may touch. */
export interface ActivityDependencies {
  readonly store: FileStore;
  readonly pool: McpPool;
  readonly askModel: AskModel;
  /** A model that sends no byte for this long is given up. @default MODEL_IDLE_TIMEOUT_MS, ten minutes */
  readonly modelIdleTimeoutMs?: number;
  /** A server that takes longer to start and list its tools is left out of the turn. @default 60000 */
  readonly listTimeoutMs?: number;
  readonly prices: NonNullable<LongshoreConfig['prices']>;
  readonly localServers: readonly LocalServer[];
  /** Of the sweep, for tests and benchmarks. */
  readonly retention?: RetentionDependencies;
  readonly hooks?: LongshoreHooks;
  /** Replaces configured secrets in texts that leave the Worker. */
  readonly redact: (text: string) => string;
  /** The same for payloads; the bytes themselves when nothing matches. */
  readonly redactBytes: (bytes: Uint8Array) => Uint8Array;
}
