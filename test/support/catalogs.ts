// Catalogs for tests of the discovery tools: a tool in a line, a server of them.
import { createHash } from 'node:crypto';
import type { ServerCatalog } from '../../activities/discovery/context.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { exposedNameOf } from '../../shared/exposed-names.ts';
import type { JsonObject } from '../../shared/json.ts';

/** A tool as a catalog has it; without more it takes nothing and says nothing. */
export function catalogTool(name: string, more: Partial<CatalogTool> = {}): CatalogTool {
  const { server = 'shop' } = more;
  return {
    exposedName: exposedNameOf({ server, tool: name }),
    server,
    tool: name,
    description: '',
    inputSchema: { type: 'object' },
    tags: ['@read-only'],
    effect: 'read',
    schemaHash: '',
    ...more,
  };
}

/** What a server offers, with the hash of it. */
export function serverCatalog(server: string, tools: readonly Partial<CatalogTool>[]): ServerCatalog {
  const all = tools.map((tool) => catalogTool(tool.tool ?? '', { ...tool, server }));
  return { server, hash: createHash('sha256').update(JSON.stringify(all)).digest('hex'), tools: all };
}

/** A schema of an object with these properties. */
export function objectSchema(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}
