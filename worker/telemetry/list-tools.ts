// What listing tools tells: counts, and what the definitions cost.
import type { ListToolsInput } from '../../shared/activities.ts';
import type { CatalogFacts } from '../../shared/catalog.ts';
import { turnLabels, type Told, type Watched } from './watch.ts';

/** Watches the listing of tools; it has no span of its own, since the conventions have none for it. */
export function watchListTools(input: ListToolsInput): Watched {
  return {
    what: 'listing of tools',
    labels: turnLabels(input.turn),
    // Only this Activity's own result comes here.
    succeeded: (result) => succeeded(input, result as CatalogFacts),
  };
}

function succeeded({ turn }: ListToolsInput, { servers, toolCount, definitionTokens }: CatalogFacts): Told {
  const counts = { servers: servers.length, tools: toolCount, definitionTokens };
  const entry = { level: 'info' as const, message: 'tools listed', ...turnLabels(turn), ...counts };
  return { attributes: {}, entries: [entry], measurements: [] };
}
