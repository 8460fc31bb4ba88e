// The file store on a local folder, the embedded default: durable, verified, private, and safe with several processes
// on one folder. Blobs, objects, locks and temporary files stand in folders of their own under the namespace's.
import { resolve } from 'node:path';
import type { FileStore } from '../../shared/file-store.ts';
import { localBlobs } from './local-blobs.ts';
import { localLayout } from './local-layout.ts';
import { localObjects } from './local-objects.ts';

/** Where a local file store is. */
export interface LocalStoreOptions {
  /** Made at the first write, with mode 0700, if it is not there. */
  readonly folder: string;
  /** The Temporal namespace; stores of different namespaces see nothing of each other. */
  readonly namespace: string;
}

/**
 * The file store in a folder. Does nothing until it is used.
 *
 * Needs a file system with hard links, symbolic links and atomic renames, as every local one of Unix has.
 * Raises what `FileStore` says: `StoreFull` for a full disk, quota or file size limit; `StoreUnavailable` for a folder
 * that is a file, is not writable or gives errors. A failed write leaves nothing behind, and the store stays usable.
 */
export function createLocalStore(options: LocalStoreOptions): FileStore {
  const folder = resolve(options.folder);
  const layout = localLayout(folder, options.namespace);
  const objects = localObjects(layout);
  return {
    description: `local folder ${folder}, namespace ${options.namespace}`,
    ...localBlobs(layout, objects),
    ...objects,
  };
}
