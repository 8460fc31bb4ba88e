// What definitions cost: tokens of tools as a request has them.
import type { CatalogTool } from '../../shared/catalog.ts';
import { DISCOVERY_INSTRUCTIONS } from '../../shared/discovery-tools.ts';
import { countTokens } from '../measure.ts';
import { discoveryOffer } from './built-in.ts';
import { catalogOf } from './exposed.ts';

/** Above this the count is an estimate; a catalog of hundreds of tools is counted exactly. */
const EXACT_UP_TO_TOKENS = 60_000;

/** Tokens of these tools' definitions. */
export async function definitionTokensOf(
  tools: readonly Pick<CatalogTool, 'exposedName' | 'description' | 'inputSchema'>[],
  exactUpToTokens: number = EXACT_UP_TO_TOKENS,
): Promise<number> {
  const definitions = tools.map(({ exposedName, description, inputSchema }) =>
    JSON.stringify({ name: exposedName, description, parameters: inputSchema }),
  );
  return (await countTokens(definitions.join('\n'), exactUpToTokens)).tokens;
}

let discoveryCost: Promise<number> | undefined;

/** Tokens that every request has where tools are deferred: the discovery tools, and what is said of them. */
export async function discoveryTokens(): Promise<number> {
  discoveryCost ??= countDiscovery();
  return discoveryCost;
}

async function countDiscovery(): Promise<number> {
  const said = await countTokens(DISCOVERY_INSTRUCTIONS);
  return said.tokens + (await definitionTokensOf(catalogOf([discoveryOffer()]).tools));
}
