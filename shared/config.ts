// The project's own settings, in `temporal.config.ts`: what the command line and the Worker work with. Everything has a
// default, so that the file may be missing.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { ApprovalHook, LongshoreHooks } from './hooks.ts';
import { isObject } from './json.ts';
import { checkMcpConfig } from './mcp-config-schema.ts';
import { BUILT_IN_SERVERS } from './sandbox-tools.ts';
import { describeValue, type SpecFault } from './spec-fault.ts';
import { checkForm, numberFrom, someText, textThat } from './spec-form.ts';
import { storeForm, type StoreSettings } from './store-settings.ts';
import { sweepForm, type SweepSettings } from './sweep-settings.ts';

/**
 * Makes a model of the AI SDK's provider interface, version 4; called once a model call.
 * Contract: makes no request; the model must not retry, since Temporal does.
 */
export type ProviderFactory = (context: {
  /** The name behind `provider/`. */
  readonly model: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}) => LanguageModelV4 | PromiseLike<LanguageModelV4>;

/** What a model costs, in US dollars for a million tokens. */
interface ModelPrice {
  readonly inputPerMillionUsd: number;
  readonly outputPerMillionUsd: number;
  /** @default inputPerMillionUsd */
  readonly cachedInputPerMillionUsd?: number;
}

/** The settings of a project. */
export interface LongshoreConfig {
  /** @default 'longshore' */
  readonly taskQueue?: string;
  /** The folder of the embedded server's database, the local file store, logs. @default LONGSHORE_HOME, else `.longshore` */
  readonly home?: string;
  /** A server to use where Temporal's own environment names none. @default the embedded server */
  readonly temporal?: { readonly address: string; readonly namespace?: string };
  /** Where files live; `LONGSHORE_STORE` comes before it. @default `store` in the home */
  readonly store?: StoreSettings;
  /** In the form that MCP clients share; a file beside the spec or `--mcp` comes before it. */
  readonly mcpServers?: { readonly [name: string]: unknown };
  /** Model providers beside `openai`, by the name before the slash in `model.name`. */
  readonly providers?: { readonly [provider: string]: ProviderFactory };
  /** For cost budgets, by `provider/model`. */
  readonly prices?: { readonly [model: string]: ModelPrice };
  /** Tools in this process; made with `defineLocalServer`. */
  readonly localServers?: readonly unknown[];
  /** How often a sweep runs, and what it leaves alone; what is kept for how long is the spec's own to say. */
  readonly retention?: SweepSettings;
  /** What the project is told while its turns run. */
  readonly hooks?: LongshoreHooks;
  /** Of the embedded server. */
  readonly server?: {
    /** Added to the command line of `temporal server start-dev`. */
    readonly extraArgs?: readonly string[];
  };
}

/** Types the settings; gives them back as they are. */
export function defineConfig(config: LongshoreConfig): LongshoreConfig {
  return config;
}

/** The settings, or all that is wrong with them. */
export type ConfigCheck = { readonly config: LongshoreConfig } | { readonly faults: readonly SpecFault[] };

const factory = z.custom<ProviderFactory>((value) => typeof value === 'function', {
  error: 'a function that makes a model',
});

const approvalHook = z.custom<ApprovalHook>((value) => typeof value === 'function', {
  error: 'a function that is told of approvals',
});

const providerName = textThat(
  (name) => /^[^\s/]+$/.test(name),
  'a name without slashes and spaces',
  'Use the part of `model.name` before the slash.',
);

const modelName = textThat(
  (name) => /^[^\s/]+\/\S(?:.*\S)?$/.test(name),
  'provider/model',
  'Name the model as specs do, as in openai/gpt-5-mini.',
);

const price = z.strictObject({
  inputPerMillionUsd: numberFrom(0),
  outputPerMillionUsd: numberFrom(0),
  cachedInputPerMillionUsd: numberFrom(0).optional(),
});

const localServer = z
  .looseObject({ name: someText() }, { error: 'a local server' })
  .refine((server) => Array.isArray(server['tools']), {
    error: 'a local server with a list of tools',
    params: { mend: 'Make it with `defineLocalServer`.' },
  });

const configForm = z.strictObject({
  taskQueue: someText().optional(),
  home: someText().optional(),
  temporal: z.strictObject({ address: someText('host:port'), namespace: someText().optional() }).optional(),
  store: storeForm.optional(),
  mcpServers: z.record(z.string(), z.unknown()).optional(),
  providers: z.record(providerName, factory).optional(),
  prices: z.record(modelName, price).optional(),
  localServers: z.array(localServer).optional(),
  hooks: z.strictObject({ onApproval: approvalHook.optional() }).optional(),
  retention: sweepForm.optional(),
  server: z.strictObject({ extraArgs: z.array(z.string()).optional() }).optional(),
});

/** Checks the settings whole; never throws. `source` is the file they came from, for messages. */
export function checkConfig(value: unknown, source: string): ConfigCheck {
  const form = checkForm(configForm, value);
  const faults = [...('faults' in form ? form.faults : []), ...serverFaults(value, source), ...nameFaults(value)];
  // The schema has proved the form; it types absent keys as possibly undefined, and functions stay the same ones.
  if (faults.length === 0) return { config: value as LongshoreConfig };
  return { faults };
}

function serverFaults(value: unknown, source: string): readonly SpecFault[] {
  if (!isObject(value) || !isObject(value['mcpServers'])) return [];
  const check = checkMcpConfig({ mcpServers: value['mcpServers'] }, source);
  return 'faults' in check ? check.faults : [];
}

/** A local server must not have the name of another, nor that of an MCP server. */
function nameFaults(value: unknown): readonly SpecFault[] {
  if (!isObject(value) || !Array.isArray(value['localServers'])) return [];
  const configured = isObject(value['mcpServers']) ? Object.keys(value['mcpServers']) : [];
  const names = value['localServers'].map((server: unknown) => (isObject(server) ? server['name'] : undefined));
  const taken = [...BUILT_IN_SERVERS, ...configured];
  return names.flatMap((name, index) => {
    if (typeof name !== 'string') return [];
    const isFree = !taken.includes(name) && names.indexOf(name) === index;
    if (isFree) return [];
    const message = `another server is named ${describeValue(name)}`;
    return [{ path: `localServers.${index}.name`, message, mend: 'Give the server a name of its own.' }];
  });
}
