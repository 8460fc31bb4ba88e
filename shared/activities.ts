// What the Workflow asks of Activities: the names on the wire, their inputs and results. Histories outlive code, so
// names stay and fields are only added.
import type { AgentSpec, SpecServer } from './agent-spec.ts';
import type { ApprovalEventType } from './approval-events.ts';
import type { ApprovalGrant, DecidedCall, WaitingCall } from './approvals.ts';
import type { CatalogFacts, ServerCatalogFacts, ServerCatalogRef, ToolEffect, ToolTag } from './catalog.ts';
import type { BlockFacts, FileFacts, ModelUsage, ResultFacts } from './facts.ts';
import type { BlobRef } from './file-store.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ToolOutcome, UserMessage } from './messages.ts';
import type { Placement, PlacementRule } from './placement.ts';
import type { RetentionRule } from './retention.ts';

/** Which turn an Activity works for. */
export interface TurnIdentity {
  readonly workflowId: string;
  readonly session: string;
  /** The turn's ordinal in its chain, from 1. */
  readonly turn: number;
}

/** What stays the same for all model calls of a turn; written into the transcript by its first model call. */
export interface TurnFrame {
  readonly agent: string;
  readonly model: AgentSpec['model'];
  readonly instructions: string;
  readonly responseFormat: AgentSpec['response_format'];
  readonly catalog: BlobRef;
  /** The turn's default rule, for its manifest. */
  readonly retention?: RetentionRule;
}

/** Where a turn goes on from: the end of an earlier one. */
export interface ContinueFrom {
  readonly workflowId: string;
  readonly session: string;
  readonly turn: number;
  readonly head: BlobRef;
  /** What a person allowed for the rest of the session. */
  readonly grants?: readonly ApprovalGrant[];
}

/** One result as the step commits it: the decision, and references to what is staged. */
export interface CommittedResult {
  readonly callKey: string;
  readonly callId: string;
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly outcome: ToolOutcome;
  readonly placement: Placement;
  readonly rule: PlacementRule;
  /** What stands in context: text itself (a pointer, or what was too small to stage) or a blob. */
  readonly context: { readonly text: string } | { readonly blob: BlobRef };
  /** What stands in context costs this many tokens. */
  readonly tokens: number;
  /** What it would have cost inline; present where it was placed in a file. For telemetry. */
  readonly inlineTokens?: number;
  /** Images that follow, while inline. */
  readonly images: readonly FileFacts[];
  /** Files to pin: the payload where it was placed in a file, and all further blocks. */
  readonly file?: FileFacts;
  readonly blocks: readonly BlockFacts[];
  /** A long list of blocks, in the store; `blocks` is empty then. */
  readonly blocksRef?: BlobRef;
  /** With `blocksRef`: the numbers of the blocks that follow as images, while inline. */
  readonly imageBlocks?: readonly number[];
  readonly written: readonly FileFacts[];
  /** Of the call's files, where its tool has a rule of its own. */
  readonly retention?: RetentionRule;
  /** Of the call that made the result. @default 0 */
  readonly generation?: number;
  /** Who decided on it, where a person did, or a grant or deadline in their place. */
  readonly decided?: DecidedCall;
  /** Stands before the result in context: that a person changed the arguments, and what ran. Counted in `tokens`. */
  readonly note?: string;
}

/** The commit of a step: its decisions as data. */
export interface StepCommit {
  readonly step: number;
  readonly results: readonly CommittedResult[];
}

/** Input of `longshoreListTools`. */
export interface ListToolsInput {
  readonly turn: TurnIdentity;
  readonly servers: readonly SpecServer[];
  /** Whether the agent may ask a person by `ask_user_question`. @default false */
  readonly askUserQuestions?: boolean;
  /** As in the turn's input: absent, everything is preloaded. */
  readonly deferral?: 1;
}

/** Input of `longshoreLoadCatalog`: what a deferred server offers, asked when it is needed. */
export interface LoadCatalogInput {
  readonly turn: TurnIdentity;
  readonly server: SpecServer;
  /** A discovery tool or a call needs it, or a call found that it has changed. */
  readonly reason: 'discovery' | 'call' | 'changed';
  /** The hash that the turn has, where it has one. */
  readonly known?: string;
}

/** Input of `longshoreJudgeCall`: a call whose server was not known when the model asked for it. */
export interface JudgeCallInput {
  readonly turn: TurnIdentity;
  /** As proposed, with `unresolved`. */
  readonly call: ProposedCall;
  readonly catalog: ServerCatalogRef;
}

/** Input of `longshoreCallModel`: the transcript's head and what is new since. */
export interface CallModelInput {
  readonly turn: TurnIdentity;
  readonly step: number;
  readonly head: BlobRef | null;
  /** On a turn's first model call. */
  readonly frame?: TurnFrame;
  readonly continueFrom?: ContinueFrom;
  /** User messages to add. */
  readonly messages: readonly UserMessage[];
  /** The step before this one, to be committed first. */
  readonly commit?: StepCommit;
  /** Set when the manifest was not written for an hour: it gets the head. */
  readonly saveHead?: boolean;
  /** On the first model call after a wait: what is compared with the manifest before anything else. */
  readonly resume?: ResumeCheck;
  /** Results of calls that a person had made anew, to be told after the commit. */
  readonly retried?: readonly RetriedResult[];
  /** Catalogs that the turn has loaded: calls are judged by them first, and the manifest keeps them. @default none */
  readonly catalogs?: readonly ServerCatalogRef[];
}

/** A file that history pins, as the manifest must know it. */
export interface RecordedPin {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  /** The call that left it, while it is held for a step that is not committed yet. */
  readonly staged?: string;
}

/** What history says that a turn pins, for the comparison with its manifest. Source: architecture D8. */
export interface ResumeCheck {
  readonly pins: readonly RecordedPin[];
  /** Long lists of blocks that went by reference: their files are pinned too. */
  readonly blockLists: readonly BlobRef[];
  /** Whether nothing else is pinned, so that more in the manifest is a difference as well. */
  readonly complete: boolean;
}

/** Input of `longshoreVerifyFiles`: a part of what is too much for the next model call's input. */
export interface VerifyFilesInput {
  readonly turn: TurnIdentity;
  readonly resume: ResumeCheck;
}

/** Result of `longshoreVerifyFiles`. */
export interface VerifyFilesResult {
  /** How many records agreed. */
  readonly compared: number;
}

/** A result that a person distrusted, made anew: placed by the same rule, told once. */
export interface RetriedResult {
  readonly result: CommittedResult;
  /** What the caller claims to be; not verified. */
  readonly by: string;
  readonly reason?: string;
}

/** A file whose bytes the store does not have as the record says. */
export interface LostFile {
  readonly path: string;
  /** As recorded. */
  readonly sha256: string;
  readonly bytes: number;
  readonly problem: 'missing' | 'altered';
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
}

/** A tool call as the model asked for it, with what policy needs to know. */
export interface ProposedCall {
  readonly callKey: string;
  readonly callId: string;
  /** The name the model used. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  /** Empty when they are large: then `argumentsRef` has them. */
  readonly arguments: JsonObject;
  readonly argumentsRef?: BlobRef;
  /** What the model wrote where it was no JSON object: its first 200 characters, for people. */
  readonly argumentsText?: string;
  readonly argumentsDigest: string;
  readonly schemaHash: string;
  readonly tags: readonly ToolTag[];
  readonly effect: ToolEffect;
  /** The wrapper by which the model asked for it; `server`, `tool` and `arguments` are those behind it. */
  readonly via?: 'call_tool';
  /** Its server's catalog is not loaded: to be loaded, and the call judged by it, before anything else. Tags, effect and
   * schema hash are not known before. */
  readonly unresolved?: true;
  /** Why the call cannot be made: the text the model gets as the result. */
  readonly fault?: {
    readonly type: 'unknown-tool' | 'bad-arguments';
    readonly text: string;
    readonly tokens: number;
    /** What was wrong with the call. @default tool for `unknown-tool`, arguments for `bad-arguments` */
    readonly stage?: 'server' | 'tool' | 'arguments';
  };
}

/** Result of `longshoreCallModel`. */
export interface CallModelResult {
  readonly head: BlobRef;
  /** The answer's text; empty when it is above 128 KiB: then `textRef` has it. */
  readonly text: string;
  readonly textRef?: BlobRef;
  readonly toolCalls: readonly ProposedCall[];
  readonly finishReason: string;
  readonly modelName: string;
  readonly usage: ModelUsage;
  /** US dollars by the configured prices; absent where no price is configured. */
  readonly costUsd?: number;
  /** Tokens of the whole request, by our count. */
  readonly sentTokens: number;
  /** Of these, what the tool array's definitions take. */
  readonly definitionTokens?: number;
  readonly attempts: number;
  readonly durationMs: number;
  /** Digest of the decisions in `commit` as they were received; absent without a commit. */
  readonly decisionsDigest?: string;
  /** Files that were missing or altered when the turn went on, at most 100; the transcript tells of all. */
  readonly lostFiles?: readonly LostFile[];
}

/** Input of `longshoreCallTool`. */
export interface CallToolInput {
  readonly turn: TurnIdentity;
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly argumentsRef?: BlobRef;
  readonly schemaHash: string;
  readonly effect: ToolEffect;
  /** Raised by a person's retry. @default 0 */
  readonly generation: number;
  /** The retry that asked for this generation, so that one after a reset is another: part of journal and idempotency key. */
  readonly retry?: string;
  readonly perResultTokens: number;
  readonly previewCharacters: number;
  readonly imageTokens: number;
  /** Of a discovery call: what it looks at, and what its answer may take. */
  readonly discovery?: { readonly catalogs: readonly ServerCatalogRef[]; readonly tokens: number };
  /** Of the others: whether the schema is compared with what the server offers now, before anything is sent. */
  readonly checkSchema?: true;
  /** With it: what policy went by, which is compared too. */
  readonly tags?: readonly ToolTag[];
}

/** Input of `longshoreCommitStep`: what the next model call would have done in passing. */
export interface CommitStepInput {
  readonly turn: TurnIdentity;
  readonly head: BlobRef | null;
  readonly frame?: TurnFrame;
  readonly continueFrom?: ContinueFrom;
  readonly messages: readonly UserMessage[];
  readonly commit?: StepCommit;
  /** How the turn ended, when it did. */
  readonly ended?: string;
  /** Before the turn waits for a person: what waits, and all that settled siblings left behind, to be held meanwhile. */
  readonly pause?: PauseRecord;
  /** As in `CallModelInput`. */
  readonly retried?: readonly RetriedResult[];
  readonly catalogs?: readonly ServerCatalogRef[];
  /** A part of the manifest's files, which is made again after it was lost while the turn ran. */
  readonly rebuild?: readonly RecordedFiles[];
  /** With `ended`: blobs that the turn's result refers to, such as a large answer. */
  readonly refs?: readonly BlobRef[];
  /** With `ended`, for telemetry: who was asked, and when (milliseconds since 1970). */
  readonly invocation?: { readonly agent: string; readonly model: string; readonly startedMs: number };
}

/** What a turn that waits for a person must not lose. Recorded in history before the wait. */
export interface PauseRecord {
  readonly step: number;
  readonly waiting: readonly WaitingCall[];
  /** Files of settled siblings, by call; pinned as `staged`. */
  readonly staged: readonly StagedFiles[];
  /** Other blobs that the step refers to. */
  readonly refs: readonly BlobRef[];
}

/** The files that one call left behind. */
export interface StagedFiles {
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  readonly files: readonly FileFacts[];
  /** A long list of further files, as JSON in the store; also among the record's `refs`. */
  readonly blocksRef?: BlobRef;
  readonly retention?: RetentionRule;
}

/** The files of one committed result, as a manifest that was lost is to have them again. */
export interface RecordedFiles extends StagedFiles {
  /** Of the call that made the result. @default 0 */
  readonly generation?: number;
  /** Whether they supersede what the same call left before. */
  readonly supersedes: boolean;
}

/** Result of `longshoreCommitStep`. */
export interface CommitStepResult {
  readonly head: BlobRef | null;
  readonly decisionsDigest?: string;
  /**
   * Of a pause: whether the Worker has a hook to be told of it. Absent in histories from before 2026-12-01, whose turns tell of a
   * wait's end before what follows from it has begun.
   */
  readonly hooks?: boolean;
  /** Of a pause: keys of waiting calls that an earlier run of the turn had sent. */
  readonly sentBefore?: readonly string[];
}

/** Input of `longshoreCheckArguments`: what a person wants a waiting call to run with. */
export interface CheckArgumentsInput {
  readonly turn: TurnIdentity;
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  readonly catalog: BlobRef;
  readonly arguments: JsonObject;
}

/** Result of `longshoreCheckArguments`: why they do not fit, or what ran will be known by. */
export type CheckArgumentsResult =
  | { readonly problem: string }
  /** Large arguments stand in the store; the Workflow drops its own copy then. */
  | { readonly argumentsDigest: string; readonly argumentsRef?: BlobRef };

/** Input of `longshoreNotify`: one event of one or more calls of a turn. */
export interface NotifyInput {
  readonly turn: TurnIdentity;
  readonly agent: string;
  readonly event: ApprovalEventType;
  readonly calls: readonly { readonly call: WaitingCall; readonly decided?: DecidedCall }[];
  readonly at: number;
}

/** Result of `longshoreNotify`. */
export interface NotifyResult {
  /** Whether the Worker has a hook. */
  readonly hooks: boolean;
}

/** The Activities of a turn, by their names on the wire. */
export interface LongshoreActivities {
  longshoreListTools(input: ListToolsInput): Promise<CatalogFacts>;
  longshoreLoadCatalog(input: LoadCatalogInput): Promise<ServerCatalogFacts>;
  longshoreJudgeCall(input: JudgeCallInput): Promise<ProposedCall>;
  longshoreCallModel(input: CallModelInput): Promise<CallModelResult>;
  longshoreCallTool(input: CallToolInput): Promise<ResultFacts>;
  longshoreCommitStep(input: CommitStepInput): Promise<CommitStepResult>;
  longshoreVerifyFiles(input: VerifyFilesInput): Promise<VerifyFilesResult>;
  longshoreCheckArguments(input: CheckArgumentsInput): Promise<CheckArgumentsResult>;
  longshoreNotify(input: NotifyInput): Promise<NotifyResult>;
}

/** All that an Activity's input decides: the step's commit and the results that were made anew, as one; undefined for neither. */
export function decidedBy({
  commit,
  retried = [],
}: Pick<CallModelInput, 'commit' | 'retried'>): StepCommit | undefined {
  if (retried.length === 0) return commit;
  const anew = retried.map((one) => one.result);
  return { step: commit?.step ?? -1, results: [...(commit?.results ?? []), ...anew] };
}

/** What the digest of a step's decisions covers: what was decided for which call, and nothing else. */
export function decisionsOf(commit: StepCommit): JsonValue {
  return commit.results.map(({ callKey, outcome, placement, rule }) => [callKey, outcome, placement, rule]);
}
