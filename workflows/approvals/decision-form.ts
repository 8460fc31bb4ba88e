// Whether the input of the Update has the form of a decision: it comes from anybody's client. Pure.
import { DECISION_LIMITS } from '../../shared/approvals.ts';
import { isDeeperThan, isObject } from '../../shared/json.ts';
import { payloadBytes } from '../../shared/payload-limit.ts';

/** What is wrong with the input, or null for one that `ResolveApprovalInput` describes. */
export function formProblem(input: unknown): string | null {
  if (!isObject(input)) return 'the input is not an object';
  for (const key of ['workflowId', 'callKey', 'digest', 'approver'] as const) {
    const value = input[key];
    if (typeof value !== 'string' || value.trim() === '') return `\`${key}\` is missing`;
    const problem = tooLong(key, value, DECISION_LIMITS[key]);
    if (problem !== null) return problem;
  }
  const { reason, decision } = input;
  return (
    optionalText('reason', reason, DECISION_LIMITS.reason) ??
    (isObject(decision) ? decisionProblem(decision) : '`decision` is missing')
  );
}

function decisionProblem({ type, arguments: args, forSession, text, choice }: Record<string, unknown>): string | null {
  switch (type) {
    case 'approve':
      if (forSession !== undefined && typeof forSession !== 'boolean') return '`forSession` is not true or false';
      return args === undefined ? null : argumentsProblem(args);
    case 'deny':
      return null;
    case 'answer':
      return typeof text === 'string' ? tooLong('text', text, DECISION_LIMITS.answer) : '`text` is missing';
    case 'outcome':
      return choice === 'run-again' || choice === 'done' || choice === 'give-up'
        ? null
        : '`choice` is none of run-again, done, give-up';
    default:
      return '`decision.type` is none of approve, deny, answer, outcome';
  }
}

function argumentsProblem(args: unknown): string | null {
  if (!isObject(args)) return '`arguments` is not an object';
  if (isDeeperThan(DECISION_LIMITS.argumentDepth, args)) {
    return `\`arguments\` has more than ${DECISION_LIMITS.argumentDepth} levels in each other`;
  }
  const bytes = payloadBytes(args);
  const limit = DECISION_LIMITS.argumentBytes;
  return bytes <= limit ? null : `\`arguments\` has ${bytes} bytes; the limit is ${limit}`;
}

function optionalText(key: string, value: unknown, limit: number): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? tooLong(key, value, limit) : `\`${key}\` is not a text`;
}

function tooLong(key: string, value: unknown, limit: number): string | null {
  const { length } = String(value);
  return length <= limit ? null : `\`${key}\` has ${length} characters; the limit is ${limit}`;
}
