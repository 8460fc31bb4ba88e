// The Activity `longshoreLoadCatalog`: what a server offers, asked when the turn needs it. Whatever is wrong with the server, or
// with what the spec says of it, makes it unavailable: nothing of it can be called, and the turn goes on.
import { runAttempt } from './attempt.ts';
import { askServer } from './catalogs/ask-server.ts';
import { createPresentTools, type PresentTools } from './catalogs/present-tools.ts';
import { keepServerCatalog, recordListing } from './catalogs/server-catalog.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { LoadCatalogInput } from '../shared/activities.ts';
import type { ServerCatalogFacts } from '../shared/catalog.ts';

/** Makes the Activity. */
export function createLoadCatalog(
  dependencies: ActivityDependencies,
  present: PresentTools = createPresentTools(dependencies),
): (input: LoadCatalogInput) => Promise<ServerCatalogFacts> {
  return ({ turn, server, known }) =>
    runAttempt(dependencies.redact, async ({ signal }) => {
      const asked = await askServer(server, {
        dependencies,
        signal,
        workflowId: turn.workflowId,
        present,
        detailed: true,
        isLate: true,
        onListed: (all, listed) => recordListing(all, listed, dependencies),
      });
      const facts = await keepServerCatalog(asked, dependencies);
      return { ...facts, ...(known !== undefined && known !== facts.hash && { changedFrom: known }) };
    });
}
