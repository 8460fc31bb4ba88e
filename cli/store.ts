// The project's file store, for commands that read files.
import { openFileStore, storeSettings } from '../worker/files.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Home } from '../worker/home.ts';
import { namedServer } from '../worker/dev-server.ts';
import type { Project } from './project.ts';

/**
 * The store that `LONGSHORE_STORE` or the configuration names, else the folder of the home, in the namespace that the
 * environment names. @default namespace `default`
 */
export function openStore(
  home: Home,
  env: NodeJS.ProcessEnv,
  config: Project['config'],
  namespace?: string,
): FileStore {
  return openFileStore({
    settings: storeSettings(env, config.store),
    folder: home.storeFolder,
    namespace: namespace ?? namedServer(env, config.temporal)?.namespace ?? 'default',
    env,
  });
}
