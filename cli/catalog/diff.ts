// What `catalog diff` prints: what has changed between two versions of a server's catalog, or between what two turns saw of it.
import type { Client } from '@temporalio/client';
import { readTurnRecord } from '../../client/turns.ts';
import { createCatalogReader } from '../../worker/catalogs.ts';
import { diffCatalogs, type CatalogDiff, type ToolChange } from '../../shared/catalog-diff.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { CommandContext } from '../command.ts';
import { number } from '../figures.ts';
import type { Output } from '../output.ts';
import { visible } from '../waiting-lines.ts';
import { withProjectClient, withProjectStore } from '../with-client.ts';
import { HASH_SHOWN, loadVersion, requireRecord, versionOf } from './versions.ts';

/** One side of a comparison. */
interface Side {
  readonly type: 'version' | 'turn';
  /** The version's hash, or the turn's id. */
  readonly id: string;
  readonly toolCount: number;
  readonly tools: readonly CatalogTool[];
}

const HASH = /^[0-9a-f]{4,64}$/;
const PLACES_SHOWN = 8;

/** Prints it. `from` and `to` are hashes of versions or ids of turns; by default the version before the newest, and the newest. */
export async function diffCatalog(
  server: string,
  given: { readonly from?: string; readonly to?: string },
  context: CommandContext,
): Promise<void> {
  const needsTurns = [given.from, given.to].some((side) => side !== undefined && !HASH.test(side));
  const work = async (store: FileStore, client: Client | null): Promise<void> => {
    const { from, to } = await sidesOf(server, given, { store, client });
    const diff = diffCatalogs(from.tools, to.tools);
    if (context.output.isJson) context.output.json({ server, from: sideDocument(from), to: sideDocument(to), ...diff });
    else print(server, from, to, { diff, output: context.output });
  };
  if (needsTurns) await withProjectClient(context, ({ store, client }) => work(store, client));
  else await withProjectStore(context, (store) => work(store, null));
}

interface Places {
  readonly store: FileStore;
  readonly client: Client | null;
}

async function sidesOf(
  server: string,
  given: { readonly from?: string; readonly to?: string },
  places: Places,
): Promise<{ readonly from: Side; readonly to: Side }> {
  const isOfVersions = [given.from, given.to].some((side) => side === undefined || HASH.test(side));
  const record = isOfVersions ? await requireRecord(places.store, server) : null;
  const before = record?.versions[1];
  if (given.from === undefined && !before) {
    throw new LongshoreError(
      'CatalogNotFound',
      `Of server \`${server}\` there is only one recorded version`,
      'Compare it with what a turn saw: `longshore catalog diff SERVER TURN`.',
    );
  }
  const from = given.from ?? before?.hash ?? '';
  const to = given.to ?? record?.versions[0]?.hash ?? '';
  return { from: await sideOf(server, from, places), to: await sideOf(server, to, places) };
}

async function sideOf(server: string, given: string, { store, client }: Places): Promise<Side> {
  if (HASH.test(given)) {
    const record = await requireRecord(store, server);
    const { version, tools } = await loadVersion(store, record, versionOf(record, given).hash);
    return { type: 'version', id: version.hash, toolCount: tools.length, tools };
  }
  const id = given.replace(/^turn:/, '');
  const tools = client ? await toolsOfTurn(server, id, { store, client }) : [];
  return { type: 'turn', id, toolCount: tools.length, tools };
}

/** What the turn knew last of the server: loaded when it was needed, or asked at its start. */
async function toolsOfTurn(
  server: string,
  id: string,
  { store, client }: { readonly store: FileStore; readonly client: Client },
): Promise<readonly CatalogTool[]> {
  const { loaded, catalog } = await readTurnRecord(client, id);
  const read = createCatalogReader(store);
  const known = [...(catalog?.catalogs ?? []), ...loaded].findLast((facts) => facts.server === server);
  if (known) return (await read(known.ref)).tools;
  const entry = catalog?.servers.find(({ name }) => name === server);
  if (!catalog || !entry || entry.unasked || entry.unavailable !== undefined) {
    const why = entry?.unasked ? 'did not need' : entry ? 'could not ask' : 'has no';
    throw new LongshoreError(
      'CatalogNotFound',
      `Turn \`${id}\` ${why} server \`${server}\``,
      'See its servers with `longshore turns show`, or compare recorded versions.',
    );
  }
  return (await read(catalog.ref)).tools.filter((tool) => tool.server === server);
}

function sideDocument({ tools: _tools, ...side }: Side): Omit<Side, 'tools'> {
  return side;
}

function print(
  server: string,
  from: Side,
  to: Side,
  { diff, output }: { readonly diff: CatalogDiff; readonly output: Output },
): void {
  output.line(`${output.paint('bold', visible(server))} from ${sideText(from)} to ${sideText(to)}`);
  if (from.type !== to.type) {
    output.note(
      'A turn sees what its spec selects; a version has all tools. Tools that the spec leaves out differ too.',
    );
  }
  for (const { tool } of diff.removed) output.line(output.paint('red', `- ${visible(tool)}`));
  for (const { tool } of diff.added) output.line(output.paint('green', `+ ${visible(tool)}`));
  for (const change of diff.changed) output.line(output.paint('yellow', `~ ${changeText(change)}`));
  const { added, removed, changed, unchanged } = diff;
  output.line(
    `${number(added.length)} added, ${number(removed.length)} removed, ${number(changed.length)} changed, ${number(unchanged)} the same.`,
  );
}

function sideText({ type, id, toolCount }: Side): string {
  const name = type === 'version' ? `version ${id.slice(0, HASH_SHOWN)}` : `turn ${visible(id)}`;
  return `${name} (${number(toolCount)} tools)`;
}

function changeText({ tool, places, placeCount }: ToolChange): string {
  const shown = places.slice(0, PLACES_SHOWN).map(({ part, pointer, change }) => `${part}${pointer} ${change}`);
  const more = placeCount - shown.length;
  return visible(`${tool}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
}
