// Logs, spans and metrics of Longshore's Activities, from one interceptor: Activities themselves tell nothing. Only names,
// sizes and counts are told, never a payload, and configured secrets are taken out of the names. Without an OpenTelemetry
// SDK in the process the API does nothing. Source: architecture D15, and OpenTelemetry's GenAI semantic conventions 1.41.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context as otelContext,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context as SpanContext,
  type Span,
} from '@opentelemetry/api';
import type { Context as ActivityContext } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, WorkerInterceptors } from '@temporalio/worker';
import type { LongshoreActivities } from '../shared/activities.ts';
import { messageOf } from '../shared/errors.ts';
import type { AskModel } from '../shared/model.ts';
import { redactValue } from '../shared/redact-value.ts';
import type { Log, LogEntry } from './log.ts';
import { watchCheckArguments, watchNotify } from './telemetry/approvals.ts';
import { watchJudgeCall, watchLoadCatalog } from './telemetry/catalogs.ts';
import { watchCallModel } from './telemetry/chat.ts';
import { watchCommitStep } from './telemetry/commit-step.ts';
import { watchCallTool } from './telemetry/execute-tool.ts';
import { createRecorder } from './telemetry/instruments.ts';
import { watchListTools } from './telemetry/list-tools.ts';
import { parentContext } from './telemetry/parent-context.ts';
import { watchVerifyFiles } from './telemetry/verify-files.ts';
import type { Seen, SpanStart, Told, Watched } from './telemetry/watch.ts';

/** What watches the Activities of a Worker. */
export interface Telemetry {
  /** For the Worker's `interceptors`. */
  readonly interceptors: Pick<WorkerInterceptors, 'activity'>;
  /** The same model; which one was asked, and for how long, is told on the span of the call. */
  readonly watchModel: (askModel: AskModel) => AskModel;
}

/** Where telemetry goes beside OpenTelemetry's global providers. */
export interface TelemetryOptions {
  readonly log: Log;
  /** Takes configured secrets out of names: those of tools and models come from others. */
  readonly redact: (text: string) => string;
}

interface ModelNote {
  model?: NonNullable<Seen['model']>;
}

interface Tools extends TelemetryOptions {
  readonly record: ReturnType<typeof createRecorder>;
  readonly notes: AsyncLocalStorage<ModelNote>;
}

/** Makes the interceptor; it leaves all Activities but Longshore's alone. */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  const tools = { ...options, record: createRecorder(options.redact), notes: new AsyncLocalStorage<ModelNote>() };
  return {
    interceptors: {
      activity: [
        (context) => ({
          inbound: {
            execute: (input, next) => {
              const watched = watchedOf(context.info.activityType, input.args[0]);
              return watched ? watch(watched, { context, input, next }, tools) : next(input);
            },
          },
        }),
      ],
    },
    watchModel: (askModel) => async (request) => {
      const note = tools.notes.getStore();
      const startedMs = performance.now();
      try {
        return await askModel(request);
      } finally {
        if (note) note.model = { name: request.model, durationMs: performance.now() - startedMs };
      }
    },
  };
}

const WATCHES: { readonly [name in keyof LongshoreActivities]: (input: never) => Watched } = {
  longshoreListTools: watchListTools,
  longshoreLoadCatalog: watchLoadCatalog,
  longshoreJudgeCall: watchJudgeCall,
  longshoreCallModel: watchCallModel,
  longshoreCallTool: watchCallTool,
  longshoreCommitStep: watchCommitStep,
  longshoreVerifyFiles: watchVerifyFiles,
  longshoreCheckArguments: watchCheckArguments,
  longshoreNotify: watchNotify,
};

function watchedOf(activityType: string, input: unknown): Watched | null {
  if (!Object.hasOwn(WATCHES, activityType)) return null;
  // Activities of these names are ours, and get what the Workflow gives them.
  return WATCHES[activityType as keyof LongshoreActivities](input as never);
}

interface Execution {
  readonly context: ActivityContext;
  readonly input: ActivityExecuteInput;
  readonly next: (input: ActivityExecuteInput) => Promise<unknown>;
}

async function watch(watched: Watched, { context, input, next }: Execution, tools: Tools): Promise<unknown> {
  const parent = parentContext(input.headers);
  const attempt = { 'longshore.attempt': context.info.attempt };
  const span = watched.span && startSpan(watched.span, attempt, { parent, redact: tools.redact });
  const note: ModelNote = {};
  const startedMs = performance.now();
  const seen = (): Seen => ({ ...note, attempt: context.info.attempt, durationMs: performance.now() - startedMs });
  const run = (): Promise<unknown> => tools.notes.run(note, () => next(input));
  try {
    const result = await (span ? otelContext.with(trace.setSpan(parent, span), run) : run());
    guarded(context, () => {
      tell(watched.succeeded(result, seen()), span, tools);
      closeSpan(watched, parent, tools);
    });
    return result;
  } catch (error) {
    guarded(context, () => tell(failure(watched, error, seen()), span, tools));
    throw error;
  } finally {
    span?.end();
  }
}

/** A tool's answer must not be lost, and a write not be called unknown, since a log could not be written. */
function guarded(context: ActivityContext, telling: () => void): void {
  try {
    telling();
  } catch (error) {
    context.log.warn('Longshore could not tell what happened', { error: messageOf(error) });
  }
}

function tell(told: Told, span: Span | undefined, { log, redact, record }: Tools): void {
  if (span?.isRecording()) {
    if (told.name !== undefined) span.updateName(redact(told.name));
    span.setAttributes(redactValue(told.attributes, redact));
    markError(span, told.errorType);
  }
  record(told.measurements);
  for (const entry of told.entries) log(redactValue(entry, redact));
}

/** The type alone: messages may quote what providers and tools said. */
function markError(span: Span, errorType: string | undefined): void {
  if (errorType === undefined) return;
  span.setAttribute('error.type', errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function closeSpan({ closes }: Watched, parent: SpanContext, { redact }: Tools): void {
  if (!closes) return;
  const span = startSpan(closes.span, {}, { parent, redact });
  markError(span, closes.errorType);
  span.end();
}

function startSpan(
  { name, kind, attributes, startedMs }: SpanStart,
  more: Attributes,
  { parent, redact }: Pick<Tools, 'redact'> & { readonly parent: SpanContext },
): Span {
  const given = { kind, attributes: redactValue({ ...attributes, ...more }, redact) };
  const began = startedMs === undefined ? {} : { startTime: startedMs };
  return trace.getTracer('longshore').startSpan(redact(name), { ...given, ...began }, parent);
}

function failure(watched: Watched, error: unknown, seen: Seen): Told {
  const errorType = errorTypeOf(error);
  const isCancelled = error instanceof CancelledFailure;
  const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
  const entry: LogEntry = {
    level: isCancelled ? 'info' : 'warn',
    message: isCancelled ? `${watched.what} cancelled` : `attempt of a ${watched.what} failed`,
    ...watched.labels,
    errorType,
    ...(!isCancelled && { isFinal }),
    attempt: seen.attempt,
    durationMs: Math.round(seen.durationMs),
  };
  const told = watched.failed?.(errorType, seen) ?? { attributes: {}, measurements: [] };
  const attributes = { 'longshore.activity': watched.what, 'error.type': errorType };
  const failed = { metric: 'longshore.attempts.failed' as const, value: 1, attributes };
  return { ...told, errorType, entries: [entry], measurements: isCancelled ? [] : [...told.measurements, failed] };
}

function errorTypeOf(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  if (error instanceof ApplicationFailure) return error.type ?? 'ApplicationFailure';
  return error instanceof Error ? error.name : 'unknown';
}
