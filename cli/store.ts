// The project's file store, for commands that read files.
import { resolve } from 'node:path';
import { openFileStore, storeSettings } from '../worker/files.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Home } from '../worker/home.ts';
import { namedServer } from '../worker/dev-server.ts';
import { fingerprintOf } from './load-config.ts';
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

/** What tells a project's Workers from those of another: see `fingerprintOf`. Raises `ConfigInvalid` for a wrong store. */
export function projectFingerprint(
  { config, home, mcp }: Pick<Project, 'config' | 'home' | 'mcp'>,
  env: NodeJS.ProcessEnv,
): string {
  const settings = storeSettings(env, config.store);
  const store =
    settings.type === 's3' ? settings : { ...settings, folder: resolve(settings.folder ?? home.storeFolder) };
  return fingerprintOf(mcp, store);
}
