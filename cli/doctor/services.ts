// Checks of what agents use: the model behind `openai/…`, and each configured MCP server.
import type { LocalServer } from '../../worker/services.ts';
import { createMcpPool, DEFAULT_BASE_URL } from '../../worker/services.ts';
import type { LongshoreConfig } from '../../shared/config.ts';
import { messageOf } from '../../shared/errors.ts';
import type { LoadedMcp } from '../load-config.ts';
import type { Check, Finding } from './check.ts';
import { check, ok } from './check.ts';

const MODEL_TIMEOUT_MS = 5_000;
const SERVER_TIMEOUT_MS = 30_000;

/** Whether the server for `openai/…` models answers and takes the key, asked for its list of models. */
export async function checkModel(env: NodeJS.ProcessEnv, config: LongshoreConfig): Promise<Finding> {
  const baseUrl = env['OPENAI_BASE_URL']?.trim() || DEFAULT_BASE_URL;
  const key = env['OPENAI_API_KEY']?.trim() ?? '';
  const own = Object.keys(config.providers ?? {});
  const status = own.length > 0 ? 'note' : 'missing';
  const besides = own.length > 0 ? `; temporal.config adds the providers ${own.join(', ')}` : '';
  if (key === '' && baseUrl === DEFAULT_BASE_URL) {
    const mend = 'Set OPENAI_API_KEY, or set OPENAI_BASE_URL to a compatible server that needs no key.';
    return { status, detail: `neither OPENAI_API_KEY nor OPENAI_BASE_URL is set${besides}`, mend };
  }
  // A base URL may hold a secret in its query; only its host is shown.
  const host = URL.parse(baseUrl)?.host ?? 'OPENAI_BASE_URL';
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/models`, {
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(MODEL_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (response.status === 401 || response.status === 403) {
      return { status, detail: `${host} refuses the key (${response.status})${besides}`, mend: 'Set OPENAI_API_KEY.' };
    }
    const listing = response.ok ? '' : `; it has no list of models (${response.status})`;
    return ok(`${host} answers${listing}${besides}`);
  } catch (thrown) {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    const detail = `${host} cannot be reached: ${messageOf(cause)}${besides}`;
    return { status, detail, mend: 'Check OPENAI_BASE_URL and the network.' };
  }
}

/** Starts each configured MCP server, lists its tools, and ends it again: one row a server. */
export async function checkMcpServers(
  { mcp, configFolder }: LoadedMcp,
  env: NodeJS.ProcessEnv,
  local: readonly Pick<LocalServer, 'name'>[] = [],
): Promise<readonly Check[]> {
  if (Object.keys(mcp.servers).length === 0 && local.length > 0) {
    const names = local.map(({ name }) => name).join(', ');
    return [
      { name: 'MCP servers', status: 'ok', detail: `none beside those of temporal.config: ${names}`, mend: null },
    ];
  }
  if (Object.keys(mcp.servers).length === 0) {
    const detail = 'none configured';
    return [{ name: 'MCP servers', status: 'note', detail, mend: 'Name them in mcp.json beside the agent spec.' }];
  }
  const pool = createMcpPool({ config: mcp, env, configFolder, log: () => {}, startTimeoutMs: SERVER_TIMEOUT_MS });
  try {
    const checks = pool.names().map(async (name) =>
      check(`MCP server ${name}`, async () => {
        const { tools, problems } = await pool.server(name).listTools(AbortSignal.timeout(SERVER_TIMEOUT_MS));
        if (problems.length === 0) return ok(`${tools.length} tools`);
        const detail = problems.map(({ tool, problem }) => `${tool}: ${problem}`).join('; ');
        const mend = 'These tools are left out; the others work.';
        return { status: 'note', detail: `${tools.length} tools; ${detail}`, mend };
      }),
    );
    return await Promise.all(checks);
  } finally {
    await pool.close();
  }
}
