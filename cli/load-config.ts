// Finds and checks what a command is configured with: `temporal.config.*` in the working directory, and the MCP servers
// from --mcp, else `mcp.json` beside the spec or in the working directory, else the configuration.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { checkConfig, type LongshoreConfig } from '../shared/config.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import type { McpConfig } from '../shared/mcp-config.ts';
import { checkMcpConfig } from '../shared/mcp-config-schema.ts';
import { faultList, type SpecFault } from '../shared/spec-fault.ts';
import { parseSpecText } from '../shared/spec-text.ts';
import type { StoreSettings } from '../shared/store-settings.ts';

/** The names a configuration may have, the first that is there counts. */
export const CONFIG_NAMES: readonly string[] = ['ts', 'mts', 'js', 'mjs'].map((ending) => `temporal.config.${ending}`);

/** Where the servers may come from. */
export interface McpSources {
  readonly cwd: string;
  /** The value of --mcp. */
  readonly mcpFile?: string | undefined;
  /** The spec's path; `mcp.json` beside it counts. */
  readonly specFile?: string | undefined;
  readonly config: LongshoreConfig;
}

/** Checked servers, and the folder that their relative `cwd`s start from. */
export interface LoadedMcp {
  readonly mcp: McpConfig;
  /** What names the servers, a file or `temporal.config`; null where nothing does. */
  readonly source: string | null;
  readonly configFolder: string;
}

/** Loads the configuration of a folder; without one, an empty one. @throws `ConfigInvalid`. */
export async function loadConfig(cwd: string): Promise<LongshoreConfig> {
  for (const name of CONFIG_NAMES) {
    const path = join(cwd, name);
    if (!(await isFile(path))) continue;
    const check = checkConfig(await defaultExport(path), name);
    if ('faults' in check) throw faulty('ConfigInvalid', check.faults, path);
    return check.config;
  }
  return {};
}

/** Loads the MCP servers; without any source, none. @throws `McpConfigInvalid` with every fault. */
export async function loadMcp(sources: McpSources): Promise<LoadedMcp> {
  const { cwd, config } = sources;
  const path = await mcpPath(sources);
  if (path === undefined) {
    const name = 'temporal.config';
    const source = config.mcpServers === undefined ? null : name;
    return { mcp: checked({ mcpServers: config.mcpServers ?? {} }, name), source, configFolder: cwd };
  }
  const parsed = parseSpecText(await readMcpFile(path), path);
  if ('fault' in parsed) throw faulty('McpConfigInvalid', [parsed.fault], path);
  return { mcp: checked(parsed.value, path), source: path, configFolder: dirname(path) };
}

/**
 * What tells Workers apart that are configured differently: a digest over all that their MCP servers are made of, and over where
 * files live.
 */
export function fingerprintOf({ mcp, configFolder }: LoadedMcp, store: StoreSettings): string {
  const content = JSON.stringify([configFolder, mcp.servers, store]);
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

async function defaultExport(path: string): Promise<unknown> {
  const module = await importModule(path);
  if ('default' in module) return module['default'];
  throw new LongshoreError(
    'ConfigInvalid',
    `${path} has no default export.`,
    'End it with `export default defineConfig({…})`.',
  );
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (thrown) {
    const isUnreadableTypeScript = (thrown as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION';
    throw new LongshoreError(
      'ConfigInvalid',
      `${path} cannot be loaded: ${messageOf(thrown)}`,
      isUnreadableTypeScript
        ? `Node ${process.version} does not read TypeScript: use Node 22.18 or later, or write temporal.config.mjs.`
        : 'Correct the file; `node --check` shows a mistake of syntax.',
      { cause: thrown },
    );
  }
}

async function mcpPath({ cwd, mcpFile, specFile }: McpSources): Promise<string | undefined> {
  if (mcpFile !== undefined) return resolve(cwd, mcpFile);
  const folders = specFile === undefined ? [cwd] : [dirname(resolve(cwd, specFile)), cwd];
  for (const folder of folders) {
    const path = join(folder, 'mcp.json');
    if (await isFile(path)) return path;
  }
  return undefined;
}

async function readMcpFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    throw new LongshoreError(
      'McpConfigInvalid',
      isMissing ? `There is no MCP configuration at ${path}.` : `${path} cannot be read: ${messageOf(thrown)}.`,
      'Give the path of a JSON file of the form {"mcpServers": {"name": {"command": "…"}}}.',
      { cause: thrown },
    );
  }
}

function checked(value: unknown, source: string): McpConfig {
  const check = checkMcpConfig(value, source);
  if ('faults' in check) throw faulty('McpConfigInvalid', check.faults, source);
  return check.config;
}

function faulty(
  type: 'ConfigInvalid' | 'McpConfigInvalid',
  faults: readonly SpecFault[],
  source: string,
): LongshoreError {
  const [first, ...others] = faults;
  if (first !== undefined && others.length === 0) {
    return new LongshoreError(type, `${source}: ${faultList([{ ...first, mend: '' }])}`, first.mend);
  }
  return new LongshoreError(type, `${source} has ${faults.length} faults.`, faultList(faults));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
