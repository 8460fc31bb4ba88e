// The file store in a bucket of S3, or of a server that speaks it: what Workers on several machines share. Writes are
// sent at most three times by the client and then told as they failed; whoever called may repeat every one of them.
import type { FileStore } from '../../shared/file-store.ts';
import type { S3StoreSettings } from '../../shared/store-settings.ts';
import { s3Blobs } from './s3-blobs.ts';
import { s3Connection, S3_TIMEOUTS, type S3Timeouts } from './s3-client.ts';
import { s3Conditions, tryConditions } from './s3-conditions.ts';
import { s3Layout } from './s3-layout.ts';
import { s3Objects } from './s3-objects.ts';

/** Where an S3 file store is. */
export interface S3StoreOptions {
  readonly settings: S3StoreSettings;
  /** The Temporal namespace; stores of different namespaces see nothing of each other. */
  readonly namespace: string;
  /** Where an SSE-C key comes from. Credentials come from AWS's own chain. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default S3_TIMEOUTS */
  readonly timeouts?: Partial<S3Timeouts>;
}

/** The file store in a bucket, and what only it can be asked. */
export interface S3Store extends FileStore {
  /** Tries out whether the server keeps conditions. Raises `StoreMisconfigured` where it does not. */
  probeConditions(): Promise<void>;
}

/**
 * The file store in a bucket that is there already. Sends nothing until it is used.
 *
 * Needs a server with conditional writes (`If-None-Match: *`, `If-Match`), which is tried out before the first one.
 * Raises what `FileStore` says, and, neither of them retryable: `StoreDenied` for credentials, rights and clocks,
 * `StoreMisconfigured` for a bucket that is not there, a wrong region, a server without conditional writes.
 */
export function createS3Store({ settings, namespace, env = process.env, timeouts }: S3StoreOptions): S3Store {
  const connection = s3Connection({ settings, env, timeouts: { ...S3_TIMEOUTS, ...timeouts } });
  const layout = s3Layout(settings.prefix, namespace);
  const objects = s3Objects(connection, layout, s3Conditions(connection, layout));
  return {
    description: `${connection.place}, namespace ${namespace}`,
    ...s3Blobs(connection, layout, objects),
    ...objects,
    probeConditions: async () => tryConditions(connection, layout.probe()),
  };
}
