// The project's file store, for commands that read files.
import { createLocalStore } from '../worker/files.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Home } from '../worker/home.ts';
import { namedServer } from '../worker/dev-server.ts';
import type { Project } from './project.ts';

/** The local store of the home, in the namespace that the environment names. @default namespace `default` */
export function openStore(home: Home, env: NodeJS.ProcessEnv, config: Project['config']): FileStore {
  const namespace = namedServer(env, config.temporal)?.namespace ?? 'default';
  return createLocalStore({ folder: home.storeFolder, namespace });
}
