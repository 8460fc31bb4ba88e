// The file store as the command line uses it: the local driver, and what manifests know of files.
export { createLocalStore } from '../activities/store/local.ts';
export { findFile, listManifests, type FoundFile } from '../activities/store/manifest.ts';
