// What `approvals list` and `approvals show` print for people.
import type { Approval, ApprovalDetails } from '../client/approvals.ts';
import type { DecisionView } from '../client/decision-view.ts';
import { table, type Output } from './output.ts';
import { decideCommands, shortArguments, timesText, visible } from './waiting-lines.ts';

type Paint = Output['paint'];

/** As much of the arguments stands in a row. */
const ROW_CHARACTERS = 60;

/** One row a call. */
export function approvalTable(approvals: readonly Approval[], nowMs: number): readonly string[] {
  if (approvals.length === 0) return ['Nothing waits for a person.'];
  const rows = approvals.map((approval) => [
    approval.id,
    approval.kind,
    visible(`${approval.server}.${approval.tool}`),
    timesText(momentsOf(approval), nowMs),
    approval.question ? visible(approval.question.text) : shortArguments(approval.arguments, ROW_CHARACTERS),
  ]);
  return table([['id', 'kind', 'tool', 'time', 'arguments'], ...rows]);
}

/** All that a person needs to decide. */
export function approvalLines(details: ApprovalDetails, paint: Paint, nowMs: number): readonly string[] {
  const { id, callKey, kind, server, tool, state, said, files, selector, tags, known, digest } = details;
  const label = (name: string): string => paint('bold', name.padEnd(10));
  const block = (text: string): readonly string[] =>
    visible(text)
      .split('\n')
      .map((line) => `  ${line}`);
  return [
    `${label('call')}${visible(`${callKey} ${server}.${tool}`)} of turn ${visible(details.workflowId)}`,
    `${label('session')}${visible(details.session)}${details.agent === null ? '' : `, agent ${visible(details.agent)}`}`,
    `${label('asked')}${askedText(kind, selector, tags)}`,
    `${label('state')}${paint(state === 'waiting' ? 'yellow' : 'green', stateText(details, nowMs))}`,
    ...beforeLines(details).map((text) => `${label('before')}${visible(text)}`),
    ...details.decisions.map((decision) => `${label('decision')}${decisionText(decision)}`),
    `${label('digest')}${digest}`,
    ...(said.trim() === '' ? [] : ['', paint('bold', 'the model said'), ...block(said)]),
    ...(details.question ? questionLines(details.question, paint) : []),
    '',
    paint('bold', 'arguments'),
    ...argumentLines(details),
    ...(files.length === 0 ? [] : ['', paint('bold', 'sandbox files'), ...files.flatMap(block)]),
    ...(known === undefined ? [] : ['', paint('bold', 'what is known'), ...block(known)]),
    ...(state === 'waiting' ? ['', paint('bold', 'decide'), ...decideCommands(id, kind).flatMap(block)] : []),
  ];
}

function argumentLines({ arguments: args, argumentsRef }: ApprovalDetails): readonly string[] {
  if (argumentsRef && Object.keys(args).length === 0)
    return [`  ${argumentsRef.bytes} bytes, SHA-256 ${argumentsRef.sha256}`];
  return visible(JSON.stringify(args, null, 2))
    .split('\n')
    .map((line) => `  ${line}`);
}

function questionLines({ text, options }: NonNullable<Approval['question']>, paint: Paint): readonly string[] {
  const listed = options.map((option, index) => `  ${index + 1}. ${visible(option)}`);
  return [
    '',
    paint('bold', 'question'),
    ...visible(text)
      .split('\n')
      .map((line) => `  ${line}`),
    ...listed,
  ];
}

function askedText(kind: Approval['kind'], selector: string | null, tags: readonly string[]): string {
  if (kind === 'question') return 'a question of the agent';
  if (kind === 'outcome') return 'what became of an approved call whose outcome is unknown';
  return `may it run? (gated by ${selector ?? 'the spec'}; the tool is ${tags.join(', ')})`;
}

function beforeLines({ again, sentBefore }: ApprovalDetails): readonly string[] {
  if (again) {
    const why = again.reason === undefined ? '' : `: ${again.reason}`;
    return [`it was made already; ${again.by} asks to have it made again${why}`];
  }
  return sentBefore
    ? ['an earlier run of the turn, which was reset, had sent this very call; approved unchanged, it is not sent again']
    : [];
}

function stateText(details: ApprovalDetails, nowMs: number): string {
  if (details.state === 'waiting') {
    const end = details.expiresAt === null ? '' : `; then: ${details.onDeadline} (${details.expiresAt})`;
    return `${timesText(momentsOf(details), nowMs)}${end}`;
  }
  if (details.state === 'decided') return 'decided, without a result yet';
  return details.outcome === null ? 'waits no longer' : `ended: ${details.outcome}`;
}

/** A decision, in one line. */
export function decisionText({
  decision,
  approver,
  decidedAt,
  reason,
  changedArguments,
  choice,
}: DecisionView): string {
  const what = changedArguments ? `${decision} with ${shortArguments(changedArguments)}` : (choice ?? decision);
  return visible(`${what} by ${approver} at ${decidedAt}${reason === null ? '' : `: ${reason}`}`);
}

function momentsOf({ waitingSince, expiresAt }: Approval): {
  readonly since: number;
  readonly expiresAt: number | null;
} {
  return { since: Date.parse(waitingSince), expiresAt: expiresAt === null ? null : Date.parse(expiresAt) };
}
