// What a recorded turn says of its tools, for the shadow of other settings: its requests without the discovery they made.
import type { SpecServer } from '../shared/agent-spec.ts';
import type { AdvisedTurn } from '../shared/catalog-advice.ts';
import type { CatalogMode } from '../shared/catalog.ts';
import type { ShadowRequest } from '../shared/catalog-shadow.ts';
import { answerTokens, isDiscovery, isMade, isOfServer, isOnlyDiscovery } from './discovery-view.ts';
import type { CallRecord, TurnRecord } from './turn-record.ts';

/** A turn as evidence. */
export interface TurnEvidence extends AdvisedTurn {
  readonly workflowId: string;
  /** The agent's name in its spec. */
  readonly agent: string;
  /** As the spec names them. */
  readonly spec: readonly SpecServer[];
}

/** Null for a turn that made no model call, or whose input is that of a Workflow with a turn in line. */
export function turnEvidence(record: TurnRecord): TurnEvidence | null {
  const spec = record.input?.spec;
  const steps = record.steps.filter((step) => step.model !== undefined);
  if (!spec || steps.length === 0) return null;
  const requests: ShadowRequest[] = [];
  const isNew = newTools(record);
  let answers = 0;
  let finds = 0;
  let trips = 0;
  for (const step of steps) {
    const { sentTokens = 0, definitionTokens = record.catalog?.definitionTokens ?? 0 } = step.model ?? {};
    const contextTokens = Math.max(0, sentTokens - definitionTokens - answers);
    answers += step.calls.filter(isDiscovery).reduce((sum, call) => sum + answerTokens(call), 0);
    if (isOnlyDiscovery(step)) {
      trips += 1;
      continue;
    }
    const calls = step.calls.filter((call) => isOfServer(call) && isMade(call));
    // Each of them is asked, so that what this step finds is not found anew by a later one.
    if (calls.filter(isNew).length > 0) finds += 1;
    requests.push({ contextTokens, calls: calls.map(({ proposed: { server, tool } }) => ({ server, tool })) });
  }
  const servers = spec.mcp_servers.map(({ name }) => name);
  return { workflowId: record.workflowId, agent: spec.name, spec: spec.mcp_servers, servers, requests, finds, trips };
}

/** Whether a call is the turn's first one of a tool that its tool array did not have. */
function newTools(record: TurnRecord): (call: CallRecord) => boolean {
  const modes = new Map<string, CatalogMode>(
    (record.catalog?.servers ?? []).map(({ name, mode = 'preloaded' }) => [name, mode]),
  );
  const known = new Set<string>();
  return ({ proposed: { server, tool, via } }) => {
    const key = JSON.stringify([server, tool]);
    const mode = modes.get(server) ?? 'preloaded';
    // Of a selective server, which tools were preloaded stands in the store alone: those were not called by `call_tool`.
    const isHidden = mode === 'deferred' || (mode === 'selective' && via !== undefined);
    if (!isHidden || known.has(key)) return false;
    known.add(key);
    return true;
  };
}
