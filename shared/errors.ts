// The catalogue of everything that can go wrong with a name: type, whether Temporal may retry it, the exit code.
// Every row has a row in `docs/errors.md`; `test/unit/errors.test.ts` compares the two.

interface ErrorKind {
  readonly retryable: boolean;
  /** What the command line exits with: 1 the turn or thing itself, 2 usage or configuration, 3 a service. */
  readonly exitCode: 1 | 2 | 3;
}

/** Every failure type, by name. The names are part of the interface: scripts and retry policies match on them. */
export const ERROR_KINDS = {
  // usage and configuration
  UsageInvalid: { retryable: false, exitCode: 2 },
  SpecInvalid: { retryable: false, exitCode: 2 },
  SpecNotFound: { retryable: false, exitCode: 2 },
  ConfigInvalid: { retryable: false, exitCode: 2 },
  McpConfigInvalid: { retryable: false, exitCode: 2 },
  McpServerUnknown: { retryable: false, exitCode: 2 },
  McpCommandNotFound: { retryable: false, exitCode: 2 },
  EnvironmentMissing: { retryable: false, exitCode: 2 },
  ToolUnknown: { retryable: false, exitCode: 2 },
  ToolServerClash: { retryable: false, exitCode: 2 },
  WorkerClash: { retryable: false, exitCode: 2 },
  PluginCollision: { retryable: false, exitCode: 2 },
  MessageEmpty: { retryable: false, exitCode: 2 },
  MessageTooLarge: { retryable: false, exitCode: 2 },
  MessageInvalid: { retryable: false, exitCode: 2 },
  // things that are not there
  TurnNotFound: { retryable: false, exitCode: 1 },
  TurnRunning: { retryable: false, exitCode: 1 },
  TurnClosed: { retryable: false, exitCode: 1 },
  TurnTerminated: { retryable: false, exitCode: 1 },
  TurnNotContinuable: { retryable: false, exitCode: 1 },
  FileNotFound: { retryable: false, exitCode: 1 },
  FileHeld: { retryable: false, exitCode: 1 },
  FileDeleted: { retryable: false, exitCode: 1 },
  ManifestMissing: { retryable: false, exitCode: 1 },
  PinsDiffer: { retryable: false, exitCode: 1 },
  RunCutOff: { retryable: false, exitCode: 1 },
  StepNotFound: { retryable: false, exitCode: 1 },
  CallNotFound: { retryable: false, exitCode: 1 },
  CallNotRetryable: { retryable: false, exitCode: 1 },
  CatalogNotFound: { retryable: false, exitCode: 1 },
  // decisions of people
  ApprovalNotFound: { retryable: false, exitCode: 1 },
  ApprovalStale: { retryable: false, exitCode: 1 },
  ApprovalConflict: { retryable: false, exitCode: 1 },
  ApprovalExpired: { retryable: false, exitCode: 1 },
  ApprovalInvalid: { retryable: false, exitCode: 1 },
  HookFailed: { retryable: true, exitCode: 1 },
  // the model
  ModelUnknown: { retryable: false, exitCode: 2 },
  ModelRefused: { retryable: false, exitCode: 1 },
  ModelUnauthorized: { retryable: false, exitCode: 1 },
  ModelNotFound: { retryable: false, exitCode: 1 },
  ModelContextExceeded: { retryable: false, exitCode: 1 },
  ModelRateLimited: { retryable: true, exitCode: 1 },
  ModelOverloaded: { retryable: true, exitCode: 1 },
  ModelUnreachable: { retryable: true, exitCode: 1 },
  ModelStreamBroken: { retryable: true, exitCode: 1 },
  ModelAnswerInvalid: { retryable: true, exitCode: 1 },
  ModelAnswerTooLarge: { retryable: false, exitCode: 1 },
  ModelAnswerEmpty: { retryable: true, exitCode: 1 },
  ModelAnswerTruncated: { retryable: false, exitCode: 1 },
  ModelAnswerFiltered: { retryable: false, exitCode: 1 },
  // limits of a turn
  IterationLimit: { retryable: false, exitCode: 1 },
  BudgetExhausted: { retryable: false, exitCode: 1 },
  TurnCancelled: { retryable: false, exitCode: 1 },
  // tools
  McpServerUnavailable: { retryable: true, exitCode: 1 },
  ToolCallFailed: { retryable: true, exitCode: 1 },
  ToolTimeout: { retryable: false, exitCode: 1 },
  ToolMessageTooLarge: { retryable: false, exitCode: 1 },
  // the file store
  StoreFull: { retryable: true, exitCode: 3 },
  StoreUnavailable: { retryable: true, exitCode: 3 },
  StoreConflict: { retryable: true, exitCode: 3 },
  StoreDenied: { retryable: false, exitCode: 3 },
  StoreMisconfigured: { retryable: false, exitCode: 2 },
  BlobMissing: { retryable: false, exitCode: 1 },
  BlobCorrupt: { retryable: false, exitCode: 1 },
  TranscriptBroken: { retryable: false, exitCode: 1 },
  // where output goes
  OutputFailed: { retryable: false, exitCode: 3 },
  // Temporal
  TemporalUnavailable: { retryable: true, exitCode: 3 },
  TemporalCliMissing: { retryable: false, exitCode: 3 },
  WorkerMissing: { retryable: false, exitCode: 3 },
  PortTaken: { retryable: false, exitCode: 3 },
  HomeUnusable: { retryable: false, exitCode: 3 },
  DecisionMismatch: { retryable: false, exitCode: 1 },
  SizeLimit: { retryable: false, exitCode: 1 },
  // a fault of ours
  Internal: { retryable: false, exitCode: 1 },
} as const satisfies Record<string, ErrorKind>;

/** The name of a failure type. */
export type ErrorType = keyof typeof ERROR_KINDS;

/** An error as data: what crosses Temporal in results, and what `--json` prints. */
export interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly mend: string;
}

/** An error of the catalogue: `message` says what happened with names and values, `mend` what to do about it. */
export class LongshoreError extends Error {
  readonly type: ErrorType;
  readonly mend: string;

  constructor(type: ErrorType, message: string, mend: string, options?: { readonly cause?: unknown }) {
    super(message, options as ErrorOptions);
    this.name = 'LongshoreError';
    this.type = type;
    this.mend = mend;
  }

  get retryable(): boolean {
    return ERROR_KINDS[this.type].retryable;
  }

  get exitCode(): 1 | 2 | 3 {
    return ERROR_KINDS[this.type].exitCode;
  }

  /** The error as data, without its cause or stack. */
  toRecord(): ErrorRecord {
    return { type: this.type, message: this.message, mend: this.mend };
  }
}

/** What happened and its mend as one text, for models and people. */
export function sentencesOf({ message, mend }: Pick<ErrorRecord, 'message' | 'mend'>): string {
  const first = withoutStop(message);
  return mend === '' ? `${first}.` : `${first}. ${mend}`;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
  try {
    return String(thrown);
  } catch {
    // An object without a usable `toString` was thrown.
    return 'something without a message was thrown';
  }
}

/** A sentence that is to stand within another one. */
export function withoutStop(text: string): string {
  return text.replace(/[.\s]+$/, '');
}
