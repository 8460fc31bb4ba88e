// The form in which programs meet a turn: `run --json` and `turns show --json`. Built from history alone.
import { createHash } from 'node:crypto';
import { approvalId } from '../shared/approvals.ts';
import type { FileFacts } from '../shared/facts.ts';
import type { ErrorRecord } from '../shared/errors.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import type { ToolOutcome } from '../shared/messages.ts';
import type { Placement, PlacementRule } from '../shared/placement.ts';
import type { TurnStatus } from '../shared/turn.ts';
import type { AskedCall } from './asked-calls.ts';
import { discoveryOf, type DiscoveryView } from './discovery-view.ts';
import { decisionView, isoTime, waitingView, type DecisionView, type WaitingView } from './decision-view.ts';
import type { CallRecord, StepRecord, TurnRecord } from './turn-record.ts';

/** A result that a newer generation of the call took the place of. */
export interface EarlierView {
  readonly generation: number;
  readonly outcome: ToolOutcome | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly path: string | null;
}

/** A tool call of a turn. `placement` and `rule` are null until the step is committed. */
export interface ToolCallView {
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** What the model wrote where it was no JSON object, at most 200 characters; `arguments` is `{}` then. */
  readonly argumentsText?: string;
  /** `running` until the call has its result, `waiting` while a person is asked. */
  readonly outcome: ToolOutcome | 'running' | 'waiting';
  readonly bytes: number;
  readonly sha256: string;
  readonly mediaType: string;
  readonly tokens: number;
  readonly tokensAreExact: boolean;
  readonly placement: Placement | null;
  readonly rule: PlacementRule | null;
  readonly path: string | null;
  readonly pointerTokens: number;
  /** Of further blocks and of files the call wrote. */
  readonly files: readonly FileFacts[];
  readonly attempts: number;
  readonly durationMs: number;
  /** What else is worth knowing: `{unsaved: 'StoreFull'}` for a result of which only an excerpt is left. */
  readonly note?: JsonValue;
  /** While a person is asked. */
  readonly waiting?: WaitingView;
  /** Who decided on it, in order; left out where nobody did. */
  readonly decisions?: readonly DecisionView[];
  /** Left out where it is 0: the call was not made anew. */
  readonly generation?: number;
  /** Results that newer ones took the place of, oldest first; left out where there are none. */
  readonly earlier?: readonly EarlierView[];
}

/** A step of a turn. */
export interface StepView {
  readonly index: number;
  readonly model: {
    readonly name: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedInputTokens: number;
    readonly reasoningTokens: number;
    readonly finishReason: string;
    readonly durationMs: number;
    readonly attempts: number;
  };
  readonly toolCalls: readonly ToolCallView[];
}

/** A turn. */
export interface TurnView {
  readonly workflowId: string;
  readonly runId: string;
  readonly session: string | null;
  readonly status: TurnStatus;
  readonly answer: string | null;
  readonly error: ErrorRecord | null;
  readonly steps: readonly StepView[];
  readonly tokens: {
    readonly original: number;
    readonly inline: number;
    readonly sent: number;
    readonly reported: number;
  };
  /** What tool definitions took and gave. */
  readonly discovery: DiscoveryView;
  readonly history: { readonly bytes: number; readonly events: number; readonly runs: number };
}

/** What history does not tell: the run's id and the history's size, and texts that went by reference. */
export interface ViewContext {
  readonly runId: string;
  readonly historyBytes: number;
  readonly texts: ReadonlyMap<string, string>;
}

/** The hashes of texts that the view needs from the store: large arguments, long lists of blocks, a large answer. */
export function referencedTexts(record: TurnRecord): readonly string[] {
  const ofCalls = record.steps.flatMap((step) =>
    step.calls.flatMap(({ proposed, facts }) => [proposed.argumentsRef?.sha256, facts?.blocksRef?.sha256]),
  );
  return [...ofCalls, record.result?.answerRef?.sha256].filter((hash) => hash !== undefined);
}

/** Builds the view. */
export function viewOf(record: TurnRecord, context: ViewContext): TurnView {
  const { result, closed } = record;
  const steps = record.steps.flatMap((step) => stepView(step, record, context));
  const calls = steps.flatMap((step) => step.toolCalls);
  const answer = result?.answerRef ? (context.texts.get(result.answerRef.sha256) ?? null) : (result?.answer ?? null);
  return {
    workflowId: record.workflowId,
    runId: context.runId,
    session: result?.session ?? record.turn?.session ?? record.input?.session ?? null,
    status: result?.status ?? record.ended ?? (closed ? 'failed' : openStatus(record)),
    answer,
    error: result?.error ?? closed ?? null,
    steps,
    tokens: {
      original: sum(calls.map((call) => call.tokens)),
      inline: sum(record.steps.flatMap((step) => step.calls.map((call) => call.committed?.tokens ?? 0))),
      sent: sum(record.steps.map((step) => step.model?.sentTokens ?? 0)),
      reported: sum(steps.map((step) => step.model.inputTokens)),
    },
    discovery: discoveryOf(record),
    history: { bytes: context.historyBytes, events: record.events, runs: 1 },
  };
}

function openStatus({ asked }: TurnRecord): 'waiting' | 'running' {
  return asked.waiting().length > 0 ? 'waiting' : 'running';
}

function stepView(step: StepRecord, record: TurnRecord, context: ViewContext): StepView[] {
  if (!step.model) return [];
  const { modelName: name, usage, finishReason, durationMs, attempts } = step.model;
  const model = { name, ...usage, finishReason, durationMs, attempts };
  return [{ index: step.index, model, toolCalls: step.calls.map((call) => callView(call, record, context)) }];
}

function callView(call: CallRecord, record: TurnRecord, context: ViewContext): ToolCallView {
  const { proposed, facts, committed } = call;
  const { callKey, server, tool } = proposed;
  const text = proposed.argumentsRef && context.texts.get(proposed.argumentsRef.sha256);
  // Arguments by reference are JSON objects: `longshoreCallModel` stages nothing else under such a reference.
  const args = text === undefined ? proposed.arguments : (JSON.parse(text) as JsonObject);
  const measured = facts ?? spokenFacts(call);
  const asked = record.asked.byId.get(approvalId(record.turn?.workflowId ?? record.workflowId, callKey));
  const waiting = asked?.state === 'waiting' ? waitingView(asked) : undefined;
  return {
    callKey,
    server,
    tool,
    arguments: args,
    ...(proposed.argumentsText !== undefined && { argumentsText: proposed.argumentsText }),
    outcome: waiting ? 'waiting' : (committed?.outcome ?? facts?.outcome ?? 'running'),
    bytes: measured.bytes,
    sha256: measured.sha256,
    mediaType: measured.mediaType,
    tokens: measured.tokens,
    tokensAreExact: measured.tokensAreExact,
    placement: committed?.placement ?? null,
    rule: committed?.rule ?? null,
    path: committed?.file?.path ?? null,
    pointerTokens: facts?.pointerTokens ?? 0,
    files: [...blocksOf(call, context), ...(facts?.written ?? [])].map(fileOf),
    attempts: facts?.attempts ?? 0,
    durationMs: facts?.durationMs ?? 0,
    ...(facts?.note !== undefined && { note: facts.note }),
    ...(waiting && { waiting }),
    ...decisionsView(call, asked),
    ...generationsView(call),
  };
}

/** By Updates; where the deadline decided there is none, and the commit tells. */
function decisionsView({ committed }: CallRecord, asked: AskedCall | undefined): Pick<ToolCallView, 'decisions'> {
  if (asked && asked.decisions.length > 0) return { decisions: asked.decisions.map(decisionView) };
  if (!committed?.decided) return {};
  const { decision, approver, decidedAt, reason = null } = committed.decided;
  return { decisions: [{ decision, approver, decidedAt: isoTime(decidedAt), reason }] };
}

function generationsView({ input, earlier }: CallRecord): Pick<ToolCallView, 'generation' | 'earlier'> {
  const generation = input?.generation ?? 0;
  const views = earlier.map(({ generation: number, facts, committed }): EarlierView => {
    const outcome = committed?.outcome ?? facts?.outcome ?? null;
    const { bytes = 0, sha256 = null } = facts ?? {};
    return { generation: number, outcome, bytes, sha256, path: committed?.file?.path ?? facts?.file?.path ?? null };
  });
  return { ...(generation > 0 && { generation }), ...(views.length > 0 && { earlier: views }) };
}

function blocksOf({ facts }: CallRecord, context: ViewContext): readonly FileFacts[] {
  const text = facts?.blocksRef && context.texts.get(facts.blocksRef.sha256);
  // Blocks by reference are a list of them: `longshoreCallTool` stages nothing else under such a reference.
  return text === undefined ? (facts?.blocks ?? []) : (JSON.parse(text) as readonly FileFacts[]);
}

/** What is known of a result in words: it was never measured by an Activity. */
function spokenFacts({
  committed,
  proposed,
}: CallRecord): Pick<ToolCallView, 'bytes' | 'sha256' | 'mediaType' | 'tokens' | 'tokensAreExact'> {
  const text = committed && 'text' in committed.context ? committed.context.text : '';
  const sha256 = createHash('sha256').update(text).digest('hex');
  const bytes = Buffer.byteLength(text);
  return {
    bytes,
    sha256,
    mediaType: 'text/plain',
    tokens: committed?.tokens ?? 0,
    tokensAreExact: proposed.fault !== undefined,
  };
}

function fileOf({ path, sha256, bytes, mediaType }: FileFacts): FileFacts {
  return { path, sha256, bytes, mediaType };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
