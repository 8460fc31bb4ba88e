// Pools for tests: configured in a line, closed after each test, their log kept.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { createMcpPool, type McpPool, type McpPoolOptions, type PoolLogEntry } from '../../activities/mcp/pool.ts';
import type { McpServerConfig, StdioServerConfig } from '../../shared/mcp-config.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolRequest, ToolResponse } from '../../shared/tool-server.ts';

/** A pool and what it logged. */
export interface TestPool {
  readonly pool: McpPool;
  readonly log: readonly PoolLogEntry[];
}

/** Makes a pool that is closed when the test has ended. */
export function testPool(
  servers: Readonly<Record<string, McpServerConfig>>,
  options: Partial<Omit<McpPoolOptions, 'config' | 'log'>> = {},
): TestPool {
  const log: PoolLogEntry[] = [];
  const config = { source: 'mcp.json', servers };
  const pool = createMcpPool({ config, log: (entry) => log.push(entry), ...options });
  onTestFinished(() => pool.close());
  return { pool, log };
}

/** The small test server in one of its modes. */
export function testServer(mode: string, more: Partial<StdioServerConfig> = {}): StdioServerConfig {
  const path = fileURLToPath(new URL('./mcp-stdio-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [path, mode], env: {}, ...more };
}

/** A server of an npm package, by the path of its program in the package. */
export function packagedServer(program: string, args: readonly string[] = []): StdioServerConfig {
  return { type: 'stdio', command: process.execPath, args: [packagedFile(program), ...args], env: {} };
}

/** The path of a file of an npm package, whatever the package exports. */
export function packagedFile(file: string): string {
  const roots = createRequire(import.meta.url).resolve.paths(file) ?? [];
  const parts = file.split('/');
  const name = parts.slice(0, file.startsWith('@') ? 2 : 1).join('/');
  const root = roots.find((folder) => existsSync(`${folder}/${name}/package.json`));
  if (root === undefined) throw new Error(`The package ${name} is not installed`);
  return `${root}/${file}`;
}

/** Calls a tool with what a test rarely varies. */
export function call(
  pool: McpPool,
  [server, tool]: readonly [server: string, tool: string],
  args: JsonObject = {},
  more: Partial<ToolRequest> = {},
): Promise<ToolResponse> {
  const signal = AbortSignal.timeout(30_000);
  return pool.server(server).callTool({ tool, arguments: args, idempotencyKey: 'key', signal, ...more });
}

/** The text of a response's first block. */
export function firstText(response: ToolResponse): string {
  const [block] = response.content as readonly { readonly text?: string }[];
  return block?.text ?? '';
}

/** Waits until something is true; fails after ten seconds. */
export async function eventually(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not become true within ten seconds');
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}

/** Whether a process is there. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH: it is gone.
    return false;
  }
}
