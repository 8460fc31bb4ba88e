// From a proposed call to one that waits for a person, with all that a person needs to decide. Pure.
import type { ProposedCall } from '../../shared/activities.ts';
import type { ApprovalSettings, WaitingCall } from '../../shared/approvals.ts';
import { digestOf } from '../../shared/digest.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** When a wait begins, and under which rules. */
interface WaitFrame {
  readonly since: number;
  readonly settings: ApprovalSettings;
  readonly again?: NonNullable<WaitingCall['again']>;
}

/** As many paths are named of one call. */
const NAMED_FILES = 50;

/** A gated call. `selector` is what gates it. */
export function waitForApproval(call: ProposedCall, selector: string, frame: WaitFrame): WaitingCall {
  const { again } = frame;
  return {
    kind: 'approval',
    ...common(call, frame),
    digest: call.argumentsDigest,
    selector,
    ...(again && { again }),
  };
}

/** A question of the agent. Its text stays empty where the arguments went by reference. */
export function waitForAnswer(call: ProposedCall, frame: WaitFrame): WaitingCall {
  const { question, options } = call.arguments;
  const text = typeof question === 'string' ? question : '';
  const given = Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
  return {
    kind: 'question',
    ...common(call, frame),
    digest: call.argumentsDigest,
    files: [],
    question: { text, options: given },
  };
}

/** An approved call of which nobody knows what it did; `known` says what is known. */
export function waitForOutcome(
  call: ProposedCall,
  { generation, known }: { readonly generation: number; readonly known: string },
  frame: WaitFrame,
): WaitingCall {
  const digest = digestOf(['outcome', call.argumentsDigest, generation]);
  return { kind: 'outcome', ...common(call, frame), digest, known };
}

/** Sandbox paths that texts of the arguments name, once each. */
export function sandboxPathsIn(args: JsonObject): readonly string[] {
  const paths = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (paths.size >= NAMED_FILES) return;
    if (typeof value === 'string') for (const path of pathsOf(value)) paths.add(path);
    else if (Array.isArray(value)) value.forEach(visit);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(visit);
  };
  visit(args);
  return [...paths].slice(0, NAMED_FILES);
}

function pathsOf(text: string): readonly string[] {
  const found = text.match(/\/sandbox\/[^\s"'`<>|;,)\]}]+/g) ?? [];
  return found.map((path) => path.replace(/[.:!?]+$/, ''));
}

function common(call: ProposedCall, { since, settings }: WaitFrame): Omit<WaitingCall, 'kind' | 'digest'> {
  const { callKey, server, tool, tags, argumentsRef } = call;
  return {
    callKey,
    server,
    tool,
    arguments: call.arguments,
    ...(argumentsRef && { argumentsRef }),
    tags,
    since,
    expiresAt: settings.deadlineMs === undefined ? null : since + settings.deadlineMs,
    onDeadline: settings.onDeadline,
    files: sandboxPathsIn(call.arguments),
  };
}
