// What `catalog show` prints: the recorded servers, or the tools of one.
import { definitionTokensOf } from '../../worker/catalogs.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { nearest } from '../../shared/spec-nearest.ts';
import type { CommandContext } from '../command.ts';
import { number, shorten } from '../figures.ts';
import type { Output } from '../output.ts';
import { table } from '../output.ts';
import { visible } from '../waiting-lines.ts';
import {
  HASH_SHOWN,
  loadVersion,
  recordedCatalogs,
  versionDocument,
  type CatalogOptions,
  type LoadedVersion,
  type Recorded,
} from './versions.ts';

/** What is asked for. */
export interface ShowOptions extends CatalogOptions {
  /** The beginning of a version's hash. */
  readonly at?: string;
  /** One tool of the server. */
  readonly tool?: string;
  readonly schemas?: true;
}

/** As much of a description stands in a line. */
const DESCRIPTION_CHARACTERS = 72;
const EXIT_PARTIAL = 1;

/** Prints it; exit code 1 where a record could not be read or a server not be asked. */
export async function showCatalog(
  server: string | undefined,
  options: ShowOptions,
  context: CommandContext,
): Promise<number> {
  const { output } = context;
  if (server === undefined && (options.tool !== undefined || options.at !== undefined || options.schemas)) {
    throw new LongshoreError(
      'UsageInvalid',
      '--tool, --at and --schemas are of one server, and none is named',
      'Name it: `longshore catalog show SERVER`.',
    );
  }
  const recorded = await recordedCatalogs(context, options, server);
  const [record] = recorded.records;
  if (server === undefined || !record) showServers(recorded, output);
  else await showTools(await loadVersion(recorded.store, record, options.at), options, output);
  return recorded.isPartial ? EXIT_PARTIAL : 0;
}

function showServers({ records }: Recorded, output: Output): void {
  if (output.isJson) {
    output.json(records.map(({ server, versions }) => ({ server, versions: versions.map(versionDocument) })));
    return;
  }
  if (records.length === 0) {
    output.line(
      'No catalog is recorded yet. A turn records those of its servers; --refresh asks the configured ones now.',
    );
    return;
  }
  const rows = records.flatMap(({ server, versions }) =>
    versions.map(({ hash, firstSeen, lastSeen, toolCount, definitionTokens, description = '' }, index) => [
      index === 0 ? server : '',
      hash.slice(0, HASH_SHOWN),
      number(toolCount),
      number(definitionTokens),
      new Date(firstSeen).toISOString(),
      new Date(lastSeen).toISOString(),
      index === 0 ? oneLine(description) : '',
    ]),
  );
  const head = ['server', 'version', 'tools', 'tokens', 'first seen', 'last seen', 'description'];
  for (const line of table([head, ...rows])) output.line(line);
}

async function showTools(loaded: LoadedVersion, options: ShowOptions, output: Output): Promise<void> {
  const { server, version } = loaded;
  const tools = options.tool === undefined ? loaded.tools : [toolOf(loaded, options.tool)];
  const costs = await Promise.all(tools.map(async (tool) => definitionTokensOf([tool])));
  if (output.isJson) {
    const documents = tools.map((tool, index) => toolDocument(tool, costs[index] ?? 0, options));
    output.json({ server, version: versionDocument(version), tools: documents });
    return;
  }
  const { hash, toolCount, definitionTokens, description } = version;
  output.line(
    `${output.paint('bold', server)} ${hash.slice(0, HASH_SHOWN)}: ${number(toolCount)} tools, ${number(definitionTokens)} tokens of definitions`,
  );
  if (description !== undefined) output.line(`  ${oneLine(description, 300)}`);
  const rows = tools.map((tool, index) => [
    visible(tool.tool),
    number(costs[index] ?? 0),
    tool.tags.join(' '),
    oneLine(tool.description, options.tool === undefined ? DESCRIPTION_CHARACTERS : 2_000),
  ]);
  for (const line of table([['tool', 'tokens', 'tags', 'description'], ...rows])) output.line(line);
  if (!options.schemas) return;
  for (const { tool, inputSchema, outputSchema } of tools) {
    output.line(`${output.paint('bold', visible(tool))} takes ${visible(JSON.stringify(inputSchema, null, 2))}`);
    if (outputSchema)
      output.line(`${output.paint('bold', visible(tool))} gives ${visible(JSON.stringify(outputSchema, null, 2))}`);
  }
}

function toolDocument(tool: CatalogTool, tokens: number, { schemas }: ShowOptions): Record<string, unknown> {
  const { inputSchema, outputSchema, server: _server, ...rest } = tool;
  return { ...rest, tokens, ...(schemas && { inputSchema, ...(outputSchema && { outputSchema }) }) };
}

function toolOf({ server, tools }: LoadedVersion, name: string): CatalogTool {
  const found = tools.find(({ tool, exposedName }) => tool === name || exposedName === name);
  if (found) return found;
  const near = nearest(
    name,
    tools.map(({ tool }) => tool),
  );
  throw new LongshoreError(
    'CatalogNotFound',
    `Server \`${server}\` has no tool \`${name}\` in this version`,
    near === null ? `See its tools with \`longshore catalog show ${server}\`.` : `Did you mean \`${near}\`?`,
  );
}

function oneLine(text: string, characters: number = DESCRIPTION_CHARACTERS): string {
  return shorten(text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim(), characters);
}
