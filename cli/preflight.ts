// What `run` can know before the turn: servers that nobody configured; and, where it brings up the Worker itself, commands
// that do not exist and variables that are not set. Another Worker has an environment of its own.
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { LocalServer } from '../worker/services.ts';
import type { AgentSpec } from '../shared/agent-spec.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { McpServerConfig } from '../shared/mcp-config.ts';
import { expandVariables } from '../shared/mcp-config-schema.ts';
import { checkSpecPrices, specInvalid } from '../shared/spec-check.ts';
import type { Project } from './project.ts';

/** Checks that every server of the spec is configured in this project. Raises `McpServerUnknown`. */
export function checkServers(spec: AgentSpec, project: Project): void {
  const { mcp } = project.mcp;
  // `checkConfig` has proved that these came from `defineLocalServer`.
  const local = (project.config.localServers ?? []) as readonly LocalServer[];
  const configured = [...Object.keys(mcp.servers), ...local.map((server) => server.name)];
  for (const { name } of spec.mcp_servers) {
    if (!configured.includes(name)) throw unknownServer(name, configured, mcp.source);
  }
}

/**
 * Checks that a Worker of this environment can start or reach every server of the spec.
 * Raises `ModelUnknown` for a provider nobody configured, `SpecInvalid` for a budget in dollars without a price, `EnvironmentMissing`, `McpCommandNotFound`.
 */
export async function checkLaunch(spec: AgentSpec, project: Project, env: NodeJS.ProcessEnv): Promise<void> {
  checkProvider(spec.model.name, Object.keys(project.config.providers ?? {}));
  const unpriced = checkSpecPrices(spec, project.config.prices ?? {});
  if (unpriced.length > 0) throw specInvalid(unpriced, 'The spec');
  const { mcp, configFolder } = project.mcp;
  for (const { name } of spec.mcp_servers) {
    const server = mcp.servers[name];
    if (server === undefined) continue;
    checkVariables(name, server, env);
    if (server.type === 'http') continue;
    await checkCommand(name, server.command, { env, folder: resolve(configFolder, server.cwd ?? '.') });
  }
}

/** The Worker would find this too, but only once the turn runs. */
function checkProvider(model: string, configured: readonly string[]): void {
  const provider = model.split('/', 1)[0] ?? '';
  const known = ['openai', ...configured];
  if (known.includes(provider)) return;
  throw new LongshoreError(
    'ModelUnknown',
    `The spec's model \`${model}\` names provider \`${provider}\`; known are: ${known.join(', ')}`,
    'Use one of them, or add it under `providers` in temporal.config.ts.',
  );
}

function checkVariables(name: string, server: McpServerConfig, env: NodeJS.ProcessEnv): void {
  const texts =
    server.type === 'http'
      ? [server.url, ...Object.values(server.headers)]
      : [server.command, ...server.args, ...Object.values(server.env), server.cwd ?? ''];
  const expanded = texts.map((text) => expandVariables(text, env));
  const missing = [...new Set(expanded.flatMap((one) => ('missing' in one ? one.missing : [])))];
  if (missing.length === 0) return;
  throw new LongshoreError(
    'EnvironmentMissing',
    `MCP server \`${name}\` is configured with variables that are not set: ${missing.join(', ')}`,
    `Set ${missing.join(' and ')} in the environment, or take it out of the MCP configuration.`,
  );
}

function unknownServer(name: string, configured: readonly string[], source: string): LongshoreError {
  const known = configured.length === 0 ? 'none is configured' : `configured are: ${configured.join(', ')}`;
  return new LongshoreError(
    'McpServerUnknown',
    `The spec names MCP server \`${name}\`, which is not configured in ${source}; ${known}`,
    'Add it to mcp.json beside the spec, give a file with --mcp, or take it out of the spec.',
  );
}

async function checkCommand(
  name: string,
  command: string,
  { env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string },
): Promise<void> {
  const expanded = expandVariables(command, env);
  if (!('text' in expanded)) return;
  const candidates = candidatesOf(expanded.text, env, folder);
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return;
  }
  throw new LongshoreError(
    'McpCommandNotFound',
    `The command \`${expanded.text}\` of MCP server \`${name}\` does not exist or cannot be run`,
    'Install it, or mend `command` in the MCP configuration.',
  );
}

function candidatesOf(command: string, env: NodeJS.ProcessEnv, folder: string): readonly string[] {
  const endings = process.platform === 'win32' ? ['', '.exe', '.cmd', '.bat'] : [''];
  const folders = /[\\/]/.test(command) ? [folder] : (env['PATH'] ?? '').split(delimiter).filter((part) => part !== '');
  const bases = isAbsolute(command) ? [command] : folders.map((part) => join(part, command));
  return bases.flatMap((base) => endings.map((ending) => `${base}${ending}`));
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
