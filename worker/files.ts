// The file store as the command line uses it: how it is opened, and what manifests know of files.
export { findFile, listManifests, type FoundFile } from '../activities/store/manifest.ts';
export { openFileStore, storeSettings } from './open-store.ts';
