// Opens the file store that settings and environment name: for the plugin, the Worker and the command line alike.
import { createLocalStore } from '../activities/store/local.ts';
import { createS3Store } from '../activities/store/s3.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import { faultList } from '../shared/spec-fault.ts';
import {
  checkStoreSettings,
  parseStoreText,
  STORE_SETTING,
  type StoreCheck,
  type StoreSettings,
} from '../shared/store-settings.ts';

/** What a store is opened with. */
export interface OpenStoreOptions {
  /** @default a folder */
  readonly settings?: StoreSettings | undefined;
  /** The folder where the settings name none. */
  readonly folder: string;
  readonly namespace: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where files live: `LONGSHORE_STORE`, else as configured, else a folder. Raises `ConfigInvalid` with every fault. */
export function storeSettings(
  env: Readonly<Record<string, string | undefined>>,
  configured: StoreSettings | undefined,
): StoreSettings {
  const text = env[STORE_SETTING];
  return text ? checked(parseStoreText(text), STORE_SETTING) : (configured ?? { type: 'local' });
}

/**
 * Opens a store; nothing is looked up yet.
 * Raises `ConfigInvalid` for settings with faults, `EnvironmentMissing` for an SSE-C key that is not set.
 */
export function openFileStore({ settings = { type: 'local' }, folder, namespace, env }: OpenStoreOptions): FileStore {
  // From the plugin's options they come unchecked.
  const known = checked(checkStoreSettings(settings), 'store');
  if (known.type === 's3') return createS3Store({ settings: known, namespace, env });
  return createLocalStore({ folder: known.folder ?? folder, namespace });
}

function checked(check: StoreCheck, source: string): StoreSettings {
  if ('settings' in check) return check.settings;
  throw new LongshoreError('ConfigInvalid', `${source} does not say where files live.`, faultList(check.faults));
}
