// The file store as the command line uses it: how it is opened, and what manifests know of files.
export { reopeningTurn } from '../activities/store/inherited.ts';
export { deletedFileText } from '../activities/store/deleted-files.ts';
export { answeringFile } from '../activities/store/manifest-changes.ts';
export { findFile, listManifests, type FoundFile } from '../activities/store/manifest.ts';
export { openFileStore, storeSettings } from './open-store.ts';
export { listHolds, putHold, removeHold } from '../activities/store/holds.ts';
export {
  planPurge,
  purgeStore,
  turnsSince,
  type PurgeContext,
  type PurgedStore,
} from '../activities/retention/purge.ts';
export { temporalView } from '../activities/retention/temporal-view.ts';
