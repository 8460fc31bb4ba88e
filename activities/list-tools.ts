// The Activity `longshoreListTools`: asks the servers of the spec, selects, names, and stores the turn's catalog: the tool array
// of all its requests.
import { runAttempt } from './attempt.ts';
import { askServer, type Asking, type Offer } from './catalogs/ask-server.ts';
import { discoveryOffer, questionOffer, sandboxOffer } from './catalogs/built-in.ts';
import { definitionTokensOf } from './catalogs/definitions.ts';
import { encodeCatalog } from './catalogs/encode.ts';
import { briefly, catalogOf } from './catalogs/exposed.ts';
import { offerOf, standServers, type Standing } from './catalogs/modes.ts';
import { createPresentTools, type PresentTools } from './catalogs/present-tools.ts';
import { keepServerCatalog, recordListing } from './catalogs/server-catalog.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { DEFAULT_EXACT_UP_TO_TOKENS } from './measure.ts';
import type { ListToolsInput } from '../shared/activities.ts';
import type { Catalog, CatalogFacts, ServerCatalogFacts } from '../shared/catalog.ts';

/** Makes the Activity. */
export function createListTools(
  dependencies: ActivityDependencies,
  present: PresentTools = createPresentTools(dependencies),
): (input: ListToolsInput) => Promise<CatalogFacts> {
  return (input) =>
    runAttempt(dependencies.redact, async ({ signal }) => {
      const { workflowId } = input.turn;
      const asking = { dependencies, signal, workflowId, present };
      return input.deferral === 1
        ? listDeferred(input, { ...asking, detailed: true })
        : listAll(input, { ...asking, detailed: false });
    });
}

/** As turns from before deferral have it: everything is preloaded. */
async function listAll(input: ListToolsInput, asking: Asking): Promise<CatalogFacts> {
  const offers = await Promise.all(input.servers.map((server) => askServer(server, asking)));
  return storeCatalog(catalogOf([...builtIn(input), ...offers]), asking);
}

async function listDeferred(input: ListToolsInput, asking: Asking): Promise<CatalogFacts> {
  const { dependencies } = asking;
  const onListed: Asking['onListed'] = (all, server) => recordListing(all, server, dependencies);
  const standings = await standServers(input.servers, { ...asking, onListed });
  const isDiscovered = standings.some(({ mode }) => mode !== 'preloaded');
  const offers = standings.map((standing) => offerOf(standing, asking));
  const catalog = catalogOf([...builtIn(input), ...(isDiscovered ? [discoveryOffer()] : []), ...offers]);
  const [facts, catalogs] = await Promise.all([storeCatalog(catalog, asking), keepCatalogs(standings, dependencies)]);
  return { ...facts, ...(catalogs.length > 0 && { catalogs }) };
}

/** Of the servers that were asked and are not all shown. */
async function keepCatalogs(
  standings: readonly Standing[],
  dependencies: Asking['dependencies'],
): Promise<readonly ServerCatalogFacts[]> {
  const kept = standings.flatMap(({ mode, asked }) => (mode === 'preloaded' || !asked ? [] : [asked]));
  return Promise.all(kept.map(async (asked) => keepServerCatalog(asked, dependencies)));
}

function builtIn({ askUserQuestions = false }: ListToolsInput): readonly Offer[] {
  return askUserQuestions ? [sandboxOffer(), questionOffer()] : [sandboxOffer()];
}

async function storeCatalog(catalog: Catalog, { dependencies }: Asking): Promise<CatalogFacts> {
  const { bytes } = await encodeCatalog(catalog);
  const ref = await dependencies.store.putBlob(bytes);
  const definitionTokens = await definitionTokensOf(catalog.tools, DEFAULT_EXACT_UP_TO_TOKENS);
  return { ref, servers: catalog.servers.map(briefly), toolCount: catalog.tools.length, definitionTokens };
}
