// The pure parts of approvals: what is shown of a call, which inputs are decisions, what a pause holds, what grants cover.
import { describe, expect, it } from 'vitest';
import type { ProposedCall } from '../../shared/activities.ts';
import { approvalId, executionsOfTurn, parseApprovalId, type ApprovalDecision } from '../../shared/approvals.ts';
import type { JsonObject } from '../../shared/json.ts';
import { spoken, type SettledCall } from '../../shared/results.ts';
import { checkSpec } from '../../shared/spec-check.ts';
import { formProblem } from '../../workflows/approvals/decision-form.ts';
import { Grants } from '../../workflows/approvals/grants.ts';
import { pauseRecord } from '../../workflows/approvals/pause-record.ts';
import { sandboxPathsIn, waitForApproval, waitForOutcome } from '../../workflows/approvals/waiting-call.ts';
import { WaitingCalls } from '../../workflows/approvals/waiting-calls.ts';

const call: ProposedCall = {
  callKey: 't1/0/0',
  callId: 'call_0',
  name: 'desk__change',
  server: 'desk',
  tool: 'change',
  arguments: { n: 1 },
  argumentsDigest: 'a'.repeat(64),
  schemaHash: '',
  tags: ['@write'],
  effect: 'write',
};
const frame = { since: 1_000, settings: { onDeadline: 'expire' as const, deadlineMs: 500 } };
const decision = { workflowId: 'turn', callKey: 't1/0/0', approver: 'ann', decision: { type: 'approve' } } as const;
const input = { ...decision, digest: call.argumentsDigest };

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

describe('an approval id', () => {
  it("[ASK-7] leads back to turn and call, whatever stands in the turn's id", () => {
    for (const id of ['turn-1', 'a:b', 'own~1', 'x:t1.0.0']) {
      expect(parseApprovalId(approvalId(id, 't2/10/3'))).toEqual({ workflowId: id, callKey: 't2/10/3' });
    }
    expect(parseApprovalId('nonsense')).toBeNull();
  });

  it('[ASK-21] of a turn in line leads to the Workflow that runs it', () => {
    expect(executionsOfTurn('own~1')).toEqual(['own~1', 'own']);
    expect(executionsOfTurn('turn-1')).toEqual(['turn-1']);
  });
});

describe('a wait', () => {
  it('[ASK-2] is over at its deadline by the time, even before its timer fires', () => {
    const calls = new WaitingCalls();
    calls.begin(waitForApproval(call, '@write', frame));
    expect(calls.judge(input, 1_499).type).toBe('open');
    expect(calls.judge(input, 1_500)).toMatchObject({ type: 'refuse', refusal: { type: 'ApprovalExpired' } });
  });

  it('[ASK-5] of a call that waits again has a digest of its own: no earlier decision fits it', () => {
    const calls = new WaitingCalls();
    calls.begin(waitForApproval(call, '@write', frame));
    calls.decide(input, 1_100);
    const again = calls.begin(waitForApproval(call, '@write', frame));
    expect(again.call.digest).not.toBe(call.argumentsDigest);
    expect(calls.judge(input, 1_200)).toMatchObject({ type: 'repeat' });
    expect(again.end).toBeUndefined();
    expect(calls.decide({ ...input, digest: again.call.digest }, 1_200)).toMatchObject({ repeated: false });
  });

  it('[ASK-3] of an outcome covers the generation: run again, sent twice, runs once', () => {
    const digests = [0, 1].map((generation) => waitForOutcome(call, { generation, known: '' }, frame).digest);
    expect(new Set(digests).size).toBe(2);
  });

  it('[ASK-12] is never approved by a deadline where a question or an outcome is asked', () => {
    const calls = new WaitingCalls();
    const settings = { onDeadline: 'approve' as const, deadlineMs: 500 };
    const outcome = waitForOutcome(call, { generation: 0, known: '' }, { since: 1_000, settings });
    calls.begin(outcome);
    calls.lapse(outcome, 1_500);
    expect(calls.endOf(outcome)).toEqual({ type: 'expired', at: 1_500 });
  });
});

describe('the input of the Update', () => {
  it.each([
    [null, 'not an object'],
    [{ ...input, digest: '' }, '`digest`'],
    [{ ...input, approver: 'x'.repeat(201) }, '201 characters'],
    [{ ...input, digest: 'x'.repeat(720_000) }, '`digest` has 720000 characters; the limit is 200'],
    [{ ...input, callKey: '9'.repeat(720_000) }, '`callKey` has 720000 characters'],
    [{ ...input, workflowId: 'x'.repeat(720_000) }, '`workflowId` has 720000 characters'],
    [{ ...input, decision: { type: 'approve', arguments: nested(501) } }, 'more than 500 levels'],
    [{ ...input, decision: { type: 'approve', arguments: nested(50_000) } }, 'more than 500 levels'],
    [{ ...input, reason: 7 }, '`reason` is not a text'],
    [{ ...input, decision: 'approve' }, '`decision` is missing'],
    [{ ...input, decision: { type: 'maybe' } }, 'none of approve, deny, answer, outcome'],
    [{ ...input, decision: { type: 'approve', arguments: 'x' } }, '`arguments` is not an object'],
    [{ ...input, decision: { type: 'approve', arguments: { x: 'y'.repeat(1_000_000) } } }, 'the limit is 1000000'],
    [{ ...input, decision: { type: 'answer' } }, '`text` is missing'],
    [{ ...input, decision: { type: 'outcome', choice: 'retry' } }, 'run-again, done, give-up'],
  ])('[ASK-2] that is no decision is refused with what is wrong: %#', (given, problem) => {
    expect(formProblem(given)).toContain(problem);
  });

  it('[ASK-2] that is a decision passes', () => {
    expect(formProblem(input)).toBeNull();
    expect(formProblem({ ...input, decision: { type: 'approve', arguments: {}, forSession: true } })).toBeNull();
    expect(formProblem({ ...input, decision: { type: 'approve', arguments: nested(499) } })).toBeNull();
  });

  it.each<readonly [string, ApprovalDecision]>([
    ['with nothing said of the session', { type: 'approve', forSession: false }],
    ["with the call's own arguments", { type: 'approve', arguments: { n: 1 } }],
  ])('[ASK-2] that says the same again %s is the same decision', (_, same) => {
    const calls = new WaitingCalls();
    calls.begin(waitForApproval(call, '@write', frame));
    calls.decide(input, 1_100);
    expect(calls.judge({ ...input, decision: same }, 1_200)).toMatchObject({ type: 'repeat' });
    const other = { type: 'approve', arguments: { n: 2 } } as const;
    expect(calls.judge({ ...input, decision: other }, 1_200)).toMatchObject({ type: 'refuse' });
  });
});

describe('what is shown and held', () => {
  it('[ASK-7] names sandbox paths wherever they stand in the arguments, once each', () => {
    const args = { a: 'cat /sandbox/x.txt, then "/sandbox/tool-results/y.json".', b: [{ c: '/sandbox/x.txt' }], d: 3 };
    expect(sandboxPathsIn(args)).toEqual(['/sandbox/x.txt', '/sandbox/tool-results/y.json']);
  });

  it('[ASK-9] of a pause is each file and blob of settled siblings, and large arguments, once', () => {
    const { spec } = checkSpec({
      model: { name: 'a/b' },
      mcp_servers: [{ name: 'desk', tool_settings: { change: { retention: { after_turn: '1d' } } } }],
    });
    if (!spec) throw new Error('the spec has faults');
    const blob = { sha256: 'b'.repeat(64), bytes: 9 };
    const file = { path: '/sandbox/f.txt', sha256: 'c'.repeat(64), bytes: 3, mediaType: 'text/plain' };
    const facts = { file, blocks: [], imageBlocks: [], inlineBlob: blob, outcome: 'ok' };
    const settled = [
      { call: { ...call, argumentsRef: blob }, result: { facts } },
      { call: { ...call, callKey: 't1/0/1' }, result: { spoken: spoken('error', 'no') } },
    ] as unknown as readonly SettledCall[];
    const waiting = [waitForApproval({ ...call, callKey: 't1/0/2' }, '@write', frame)];
    const record = pauseRecord({ step: 0, calls: [call], settled }, waiting, spec);
    expect(record.refs).toEqual([blob]);
    expect(record.staged).toMatchObject([{ callKey: 't1/0/0', files: [file], retention: { afterTurnMs: 86_400_000 } }]);
    expect(record.waiting).toEqual(waiting);
  });

  it('[ASK-18] by a grant is the same tool of the same server, until it expires', () => {
    const grants = new Grants([], 1_000);
    const decided = {
      callKey: 't1/0/0',
      decision: 'approve',
      decidedAt: 5,
      repeated: false,
      approver: 'ann',
      digest: '',
    };
    grants.add(call, decided as never);
    expect(grants.find(call, 1_004)).toMatchObject({ approver: 'ann', expiresAt: 1_005 });
    expect(grants.find(call, 1_005)).toBeUndefined();
    expect(grants.find({ server: 'other', tool: 'change' }, 6)).toBeUndefined();
    expect(grants.find({ server: 'desk', tool: 'other' }, 6)).toBeUndefined();
    expect(grants.held(1_005)).toEqual([]);
  });
});
