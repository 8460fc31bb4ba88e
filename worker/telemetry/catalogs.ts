// What the Activities around deferred tools tell: that a server was asked in the middle of a turn, and how a call was judged by
// what it offers; names and counts alone.
import type { JudgeCallInput, LoadCatalogInput, ProposedCall } from '../../shared/activities.ts';
import type { ServerCatalogFacts } from '../../shared/catalog.ts';
import { turnLabels, type Told, type Watched } from './watch.ts';

/** Watches the loading of a server's catalog; it has no span of its own. */
export function watchLoadCatalog({ turn, server, reason }: LoadCatalogInput): Watched {
  const labels = { ...turnLabels(turn), server: server.name, reason };
  return {
    what: 'loading of a catalog',
    labels,
    succeeded: (result) => {
      // Only this Activity's own result comes here.
      const { toolCount, definitionTokens, unavailable, changedFrom } = result as ServerCatalogFacts;
      const found = { tools: toolCount, definitionTokens, available: unavailable === undefined };
      return told('catalog loaded', labels, { ...found, changed: changedFrom !== undefined });
    },
  };
}

/** Watches the judgement of one call; it has no span of its own. */
export function watchJudgeCall({ turn, call }: JudgeCallInput): Watched {
  const labels = { ...turnLabels(turn), callKey: call.callKey, server: call.server, tool: call.tool };
  return {
    what: 'judgement of a call',
    labels,
    // Only this Activity's own result comes here.
    succeeded: (result) => told('call judged', labels, { fault: (result as ProposedCall).fault?.type }),
  };
}

function told(message: string, labels: Watched['labels'], more: Watched['labels']): Told {
  return { attributes: {}, entries: [{ level: 'info', message, ...labels, ...more }], measurements: [] };
}
