// Which modules of the Workflows are loaded once for all Workflows of a Worker; see `workflows/preload.ts`.
import { fileURLToPath } from 'node:url';
import { siblingModule } from '../activities/threads/module-url.ts';

/** Paths for `preloadModules` of the SDK's bundler. Source: its `BundleOptions`. */
export function preloadedModules(): string[] {
  return [fileURLToPath(siblingModule(import.meta.url, '../workflows/preload'))];
}
