// The answer of `list_tools`: a page of a server's tools by name. The cursor names the last tool of the page before, so that
// each tool is told once, even where tools come and go between pages.
import type { z } from 'zod';
import type { CatalogTool } from '../../shared/catalog.ts';
import type { listToolsArguments } from './arguments.ts';
import { catalogOf, findTool, type Asked, type ServerCatalog } from './context.ts';
import { DiscoveryFault } from './fault.ts';
import { fitLines } from './fit.ts';
import { quoted, shownName } from './lines.ts';
import { nameLine } from './signature.ts';

const CURSOR = /^after:([A-Za-z0-9_-]{1,64})$/;

/** One page, and the cursor of the next. */
export async function listTools(args: z.output<typeof listToolsArguments>, asked: Asked): Promise<string> {
  const catalog = catalogOf(asked, args.mcp_server);
  const after = positionOf(catalog, args.cursor ?? '');
  const tools = [...catalog.tools].sort((a, b) => (a.exposedName < b.exposedName ? -1 : 1));
  const from = tools.filter(({ exposedName }) => exposedName <= after).length;
  const rest = tools.slice(from);
  const name = quoted(catalog.server);
  if (tools.length === 0) return `Server ${name} has no tools.`;
  if (rest.length === 0)
    return `No more tools of server ${name}: it has ${tools.length}, and this is the end of the list.`;
  // A line has two tokens at least, so that no more than these can fit.
  const lines = rest.slice(0, Math.ceil(asked.budget / 2)).map(nameLine);
  const page = (shown: readonly string[]): string => {
    const last = rest[shown.length - 1];
    const more =
      shown.length < rest.length && last ? ` Next page: cursor ${JSON.stringify(`after:${last.exposedName}`)}.` : '';
    return [`Tools ${from + 1} to ${from + shown.length} of ${tools.length} of server ${name}.${more}`, ...shown].join(
      '\n',
    );
  };
  // Where not even one line fits, its name does: a page always gets on.
  const least = rest.slice(0, 1).map(shortestName);
  return fitLines(lines, asked.budget, (shown) => page(shown === 0 ? least : lines.slice(0, shown)));
}

function shortestName(tool: CatalogTool): string {
  return shownName(tool).length <= tool.exposedName.length ? shownName(tool) : tool.exposedName;
}

/** The exposed name after which the page begins; '' at the beginning. A tool's name is taken for a cursor too. */
function positionOf({ server, tools }: ServerCatalog, cursor: string): string {
  if (cursor === '') return '';
  const position = CURSOR.exec(cursor)?.[1] ?? findTool(tools, cursor)?.exposedName;
  if (position !== undefined) return position;
  throw new DiscoveryFault(
    `The cursor ${quoted(cursor)} is none of server ${quoted(server)}. Take the one that the page before names, or begin without one.`,
  );
}
