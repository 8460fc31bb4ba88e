// What a kind of Activity tells of itself: a span's beginning, and on its end attributes, log entries and measurements.
// Pure: from the Activity's input and result alone, which hold sizes, counts and names beside what is never told.
import type { Attributes, SpanKind } from '@opentelemetry/api';
import type { TurnIdentity } from '../../shared/activities.ts';
import type { LogEntry } from '../log.ts';
import type { Measurement } from './instruments.ts';

/** A span as it begins. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Where it did not begin just now: milliseconds since 1970. */
  readonly startedMs?: number;
}

/** What was seen from outside while the Activity ran. */
export interface Seen {
  /** From 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** The model asked, as in the spec, and how long it took to answer; absent until it was asked. */
  readonly model?: { readonly name: string; readonly durationMs: number };
}

/** What there is to tell at the end of an attempt. */
export interface Told {
  readonly attributes: Attributes;
  /** Set where the operation ended badly, though the Activity did not fail. */
  readonly errorType?: string;
  /** A better name for the span, now that more is known. */
  readonly name?: string;
  readonly entries: readonly LogEntry[];
  readonly measurements: readonly Measurement[];
}

/** One Activity under watch. */
export interface Watched {
  /** What it is called in log entries, as in `model call`. */
  readonly what: string;
  /** Absent where no span is made. */
  readonly span?: SpanStart;
  /** What identifies it in log entries. */
  readonly labels: Omit<LogEntry, 'level' | 'message'>;
  /** What an attempt that did not fail tells. */
  succeeded(result: unknown, seen: Seen): Told;
  /** What a failed one tells beside its failure, which is told for all alike. */
  failed?(errorType: string, seen: Seen): Pick<Told, 'attributes' | 'measurements' | 'name'>;
  /** A span of something longer that has ended with it. */
  closes?: { readonly span: SpanStart; readonly errorType?: string };
}

/** A turn in log entries. */
export function turnLabels({ workflowId, session, turn }: TurnIdentity): {
  readonly workflowId: string;
  readonly session: string;
  readonly turn: number;
} {
  return { workflowId, session, turn };
}

/** A turn on spans. */
export function turnAttributes({ workflowId, session, turn }: TurnIdentity): Attributes {
  return { 'gen_ai.conversation.id': session, 'longshore.turn.id': workflowId, 'longshore.turn.ordinal': turn };
}

/** `provider/model` of a spec as the conventions have it: the provider's name, and the name that the provider knows. */
export function modelAttributes(model: string): {
  readonly 'gen_ai.provider.name': string;
  readonly 'gen_ai.request.model': string;
} {
  const slash = model.indexOf('/');
  return {
    'gen_ai.provider.name': slash === -1 ? model : model.slice(0, slash),
    'gen_ai.request.model': model.slice(slash + 1),
  };
}
