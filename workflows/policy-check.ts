// Whether a call may run: nothing wrong with it, not gated, not a read repeated again and again. Policy is judged when the
// call is made, on the tool itself; here a call may also end without running.
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { ProposedCall } from '../shared/activities.ts';
import { deniedText, needsApproval } from '../shared/policy.ts';
import { spoken, type SpokenResult } from '../shared/results.ts';
import { IDENTICAL_READS_ALLOWED, SANDBOX_READ_TOOLS, SANDBOX_SERVER } from '../shared/sandbox-tools.ts';

/** How often each read was asked for in this turn, by the digest of tool and arguments. */
export type ReadCounts = Map<string, number>;

/**
 * The answer of a call that must not run, or null for one that may.
 * Counts reads as it goes, so that calls are to be checked in call order.
 */
export function answerWithoutRunning(call: ProposedCall, reads: ReadCounts): SpokenResult | null {
  if (call.fault) return spoken('error', call.fault.text, call.fault.tokens);
  return refuseRepeatedRead(call, reads);
}

/** The selector that gates a call, or null for one that runs unasked. */
export function gateOf(call: ProposedCall, spec: AgentSpec): string | null {
  const server = spec.mcp_servers.find((candidate) => candidate.name === call.server);
  const { gated, selector = '' } = needsApproval(server, call.server, call.tool, call.tags);
  return gated ? selector : null;
}

/** What a gated call ends in where nobody can be asked: in turns from before approvals. */
export function deniedUnasked({ server, tool, tags }: ProposedCall, selector: string): SpokenResult {
  return spoken('denied', deniedText({ server, tool, selector, tags }));
}

function refuseRepeatedRead(call: ProposedCall, reads: ReadCounts): SpokenResult | null {
  if (call.server !== SANDBOX_SERVER) return null;
  if (call.tool === 'write_file') reads.clear();
  if (!SANDBOX_READ_TOOLS.includes(call.tool)) return null;
  const asked = (reads.get(call.argumentsDigest) ?? 0) + 1;
  reads.set(call.argumentsDigest, asked);
  if (asked <= IDENTICAL_READS_ALLOWED) return null;
  return spoken(
    'error',
    `Refused: this is identical read number ${asked} in this turn, and ${IDENTICAL_READS_ALLOWED} were answered already. ` +
      'The file has not changed since: use the answers above. To see more, ask for another range, a search or a query.',
  );
}
