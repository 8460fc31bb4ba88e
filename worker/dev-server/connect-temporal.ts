// Which Temporal server a command works with: the one that Temporal's own environment configuration names, else the one
// that `temporal.config` names, else the embedded server of the home.
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { Connection } from '@temporalio/client';
import type { NativeConnectionOptions } from '@temporalio/worker';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { Home } from '../home.ts';
import type { AttachOptions } from './attach.ts';
import { attachDevServer } from './attach.ts';
import type { DevServerLease } from './lease.ts';

/** A server that answered: how to connect to it, and the lease if it is the embedded one. */
export interface TemporalServer {
  /** For `Connection.connect` and `NativeConnection.connect` alike; `address` is always set. */
  readonly connectionOptions: NativeConnectionOptions & { readonly address: string };
  readonly namespace: string;
  readonly embedded: DevServerLease | null;
}

/** A server that the environment names, without asking whether it answers. */
export interface NamedServer {
  readonly connectionOptions: NativeConnectionOptions & { readonly address: string };
  readonly namespace: string;
  /** What named it, for messages: `TEMPORAL_ADDRESS`, `TEMPORAL_PROFILE (staging)`, … */
  readonly setting: string;
}

/** Temporal's own default, when a profile or a namespace is named but no address. Source: Temporal's CLI reference. */
const DEFAULT_ADDRESS = 'localhost:7233';
const CONNECT_TIMEOUT_MS = 6_000;

/** How to connect. */
export interface ConnectOptions extends AttachOptions {
  /** The server that `temporal.config` names, for when the environment names none. */
  readonly configured?: { readonly address: string; readonly namespace?: string } | undefined;
}

/** Connects to the named server or attaches to the embedded one. Errors as `requireReachable` and `attachDevServer`. */
export async function connectTemporal(
  env: NodeJS.ProcessEnv,
  home: Home,
  options: ConnectOptions,
): Promise<TemporalServer> {
  const named = namedServer(env, options.configured);
  if (named !== null) {
    await requireReachable(named);
    return { connectionOptions: named.connectionOptions, namespace: named.namespace, embedded: null };
  }
  const lease = await attachDevServer(home, { ...options, env });
  return { connectionOptions: { address: lease.address }, namespace: lease.namespace, embedded: lease };
}

/**
 * The server that Temporal's environment configuration names (variables, or a profile of its file), else the one
 * configured, else `null`.
 *
 * @throws `ConfigInvalid` when that configuration cannot be read or names a profile that is not there.
 */
export function namedServer(env: NodeJS.ProcessEnv, configured?: ConnectOptions['configured']): NamedServer | null {
  const { connectionOptions, namespace } = loadConfiguration(env);
  const profile = env['TEMPORAL_PROFILE'];
  const isNamed =
    connectionOptions.address !== undefined || connectionOptions.apiKey !== undefined || namespace !== undefined;
  if (!isNamed && !profile) return configured === undefined ? null : fromConfig(configured);
  const setting = env['TEMPORAL_ADDRESS'] ? 'TEMPORAL_ADDRESS' : settingWithoutAddress(env, profile);
  const defined = Object.fromEntries(Object.entries(connectionOptions).filter(([, value]) => value !== undefined));
  return {
    connectionOptions: { ...defined, address: connectionOptions.address ?? DEFAULT_ADDRESS },
    namespace: namespace ?? 'default',
    setting,
  };
}

/** Asks a named server whether it is there. @throws `TemporalUnavailable` within 10 s, naming address and setting. */
export async function requireReachable(server: NamedServer): Promise<void> {
  const { address } = server.connectionOptions;
  try {
    const connection = await Connection.connect({ ...server.connectionOptions, connectTimeout: CONNECT_TIMEOUT_MS });
    await connection.close();
  } catch (thrown) {
    throw new LongshoreError(
      'TemporalUnavailable',
      `The Temporal server at ${address}, named by ${server.setting}, cannot be reached: ${reasonOf(thrown)}.`,
      `Start it, correct ${server.setting}, or unset it to use the embedded server.`,
      { cause: thrown },
    );
  }
}

function loadConfiguration(env: NodeJS.ProcessEnv): ReturnType<typeof loadClientConnectConfig> {
  const overrideEnvVars: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    // A variable that is empty counts as not set, as everywhere in this project.
    if (value !== undefined && value !== '') overrideEnvVars[name] = value;
  }
  try {
    return loadClientConnectConfig({ overrideEnvVars });
  } catch (thrown) {
    throw new LongshoreError(
      'ConfigInvalid',
      `Temporal's environment configuration cannot be used: ${messageOf(thrown)}`,
      'Correct the TEMPORAL_* variables or the file that TEMPORAL_CONFIG_FILE names, or unset them.',
      { cause: thrown },
    );
  }
}

function fromConfig({ address, namespace }: NonNullable<ConnectOptions['configured']>): NamedServer {
  return {
    connectionOptions: { address },
    namespace: namespace ?? 'default',
    setting: '`temporal` in temporal.config',
  };
}

function settingWithoutAddress(env: NodeJS.ProcessEnv, profile: string | undefined): string {
  if (profile) return `TEMPORAL_PROFILE (${profile})`;
  const names = ['TEMPORAL_NAMESPACE', 'TEMPORAL_API_KEY'].filter((name) => env[name]);
  return names[0] ?? (env['TEMPORAL_CONFIG_FILE'] ? 'TEMPORAL_CONFIG_FILE' : "Temporal's configuration file");
}

/** gRPC's own message, without the stack of wrappings around it. */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return messageOf(cause).split('\n')[0] ?? '';
}
