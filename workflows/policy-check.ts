// Whether a call may run: nothing wrong with it, not gated, not a read repeated again and again. Policy is judged when the
// call is made, on the tool itself; here a call may also end without running.
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { ProposedCall } from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import { deniedText, needsApproval } from '../shared/policy.ts';
import { spoken, type SpokenResult } from '../shared/results.ts';
import { IDENTICAL_READS_ALLOWED, SANDBOX_READ_TOOLS, SANDBOX_SERVER } from '../shared/sandbox-tools.ts';

/** How often each read was asked for in this turn, by the digest of tool and arguments. */
export type ReadCounts = Map<string, number>;

/** The faults that this turn was told of, by the digest of the call and of what was said. */
export type ToldFaults = Set<string>;

/** What a turn counts of its calls. */
export interface CallCounts {
  readonly reads: ReadCounts;
  /** Absent in turns from before deferral: then a fault is told in full each time. */
  readonly faults?: ToldFaults;
}

/**
 * The answer of a call that must not run, or null for one that may.
 * Counts reads and faults as it goes, so that calls are to be checked in call order.
 */
export function answerWithoutRunning(call: ProposedCall, { reads, faults }: CallCounts): SpokenResult | null {
  if (!call.fault) return refuseRepeatedRead(call, reads);
  return (faults && refuseRepeatedFault(call, faults)) ?? spoken('error', call.fault.text, call.fault.tokens);
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

/** A server that was not there is asked again with each call: such a call is not the same one again. */
function refuseRepeatedFault(call: ProposedCall, faults: ToldFaults): SpokenResult | null {
  const { server, tool, argumentsDigest, argumentsText = '', fault } = call;
  if (!fault || (fault.stage === 'server' && server !== '')) return null;
  const digest = digestOf([server, tool, argumentsDigest, argumentsText, fault.text]);
  if (!faults.has(digest)) {
    faults.add(digest);
    return null;
  }
  const text =
    'Refused: this call was wrong before, and it is the same call. What is wrong with it was told above: change it.';
  return spoken('error', text);
}
