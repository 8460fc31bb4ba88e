// The one table of timeouts and retry policies. Temporal owns retries; no SDK below it retries. Which errors are final is said
// by each failure itself: a list of types here would stand in every scheduled event of a history. Source: D16.
/** Timeouts and retries of one Activity, in the form that `ActivityOptions` takes; times in milliseconds. */
export interface ActivitySettings {
  readonly startToCloseTimeout: number;
  readonly heartbeatTimeout: number;
  readonly retry: {
    readonly initialInterval: number;
    readonly backoffCoefficient: number;
    readonly maximumInterval: number;
    readonly maximumAttempts: number;
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A Worker that dies is noticed after this long. Source: D19. */
export const HEARTBEAT_TIMEOUT_MS = 6 * SECOND;

/** Activities heartbeat this often: cancellation reaches them with a heartbeat's answer, so that it is the longest it takes. */
export const HEARTBEAT_INTERVAL_MS = SECOND;

/** Connections refused end a model call after this many attempts (about 15 s): a wrong address does not mend itself. */
export const MODEL_UNREACHABLE_ATTEMPTS = 5;

/** A model that sends no byte for this long is given up, and asked again. */
export const MODEL_IDLE_TIMEOUT_MS = 10 * MINUTE;

function settings(startToCloseTimeout: number, attempts: number, maximumInterval: number): ActivitySettings {
  return {
    startToCloseTimeout,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: {
      initialInterval: SECOND,
      backoffCoefficient: 2,
      maximumInterval,
      maximumAttempts: attempts,
    },
  };
}

/** By Activity. A tool call's own deadline (`timeoutMs`, extended by progress) is kept inside its Activity. */
export const ACTIVITY_SETTINGS = {
  listTools: settings(5 * MINUTE, 3, 10 * SECOND),
  loadCatalog: settings(5 * MINUTE, 3, 10 * SECOND),
  judgeCall: settings(MINUTE, 5, 10 * SECOND),
  callModel: settings(2 * HOUR, 10, MINUTE),
  callTool: settings(24 * HOUR, 5, 30 * SECOND),
  commitStep: settings(5 * MINUTE, 8, 30 * SECOND),
  verifyFiles: settings(5 * MINUTE, 8, 30 * SECOND),
  checkArguments: settings(MINUTE, 5, 10 * SECOND),
  // Hooks run one after another for the calls of a step, 30 s each at most.
  notify: settings(30 * MINUTE, 5, MINUTE),
  // One that dies is noticed late: no other attempt may delete while it might. See `MARK_LIFE_MS`.
  sweep: { ...settings(HOUR, 10, MINUTE), heartbeatTimeout: MINUTE },
} as const satisfies Record<string, ActivitySettings>;
