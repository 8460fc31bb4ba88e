// Looks into histories and requests: what Activities were given, what passed through history, what a model was sent.
import { defaultPayloadConverter } from '@temporalio/common';
import type { LongshoreActivities } from '../../shared/activities.ts';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import type { ScriptedAnswer, ScriptedMessage, ScriptedRequest } from '../../testing/scripted-model.ts';

/** An Activity as history has it. */
export interface RecordedActivity<Input> {
  readonly input: Input;
  /** Bytes of the input as encoded. */
  readonly bytes: number;
  readonly attributes: temporal.api.history.v1.IActivityTaskScheduledEventAttributes;
  readonly summary: string;
}

/** The Activities of a type, in the order in which they were scheduled. */
export function activitiesOf<Input>(history: History, type: string): readonly RecordedActivity<Input>[] {
  return (history.events ?? []).flatMap((event) => {
    const attributes = event.activityTaskScheduledEventAttributes;
    if (!attributes || attributes.activityType?.name !== type) return [];
    const payload = attributes.input?.payloads?.[0];
    const summary = event.userMetadata?.summary;
    if (!payload) throw new Error(`An Activity of type ${type} has no input`);
    return [
      {
        input: defaultPayloadConverter.fromPayload<Input>(payload),
        bytes: payload.data?.length ?? 0,
        attributes,
        summary: summary ? defaultPayloadConverter.fromPayload<string>(summary) : '',
      },
    ];
  });
}

/** What the Activities of a type answered, in the order in which they did. */
export function resultsOf<Name extends keyof LongshoreActivities>(
  history: History,
  type: Name,
): readonly Awaited<ReturnType<LongshoreActivities[Name]>>[] {
  const events = history.events ?? [];
  const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type);
  const ids = new Set(scheduled.map(({ eventId }) => String(eventId)));
  return events.flatMap((event) => {
    const completed = event.activityTaskCompletedEventAttributes;
    const payload = completed?.result?.payloads?.[0];
    if (!payload || !ids.has(String(completed.scheduledEventId))) return [];
    return [defaultPayloadConverter.fromPayload<Awaited<ReturnType<LongshoreActivities[Name]>>>(payload)];
  });
}

/** All that stands in a history as text: every payload, decoded, and the failures. */
export function historyText(history: History): string {
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(history.events ?? []);
  return texts.join('\n');
}

/** How often a text stands in another. */
export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** A message's content as text, parts joined. */
export function contentText(message: ScriptedMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as readonly unknown[])
    .map((part) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? part.text : '',
    )
    .join('\n');
}

/** The tool results of a request, in order, as the model sees them. */
export function toolTexts(request: ScriptedRequest | undefined): readonly string[] {
  return (request?.messages ?? []).filter((message) => message.role === 'tool').map(contentText);
}

/** Answers in order, one a request of the turn; more requests than answers are an error. */
export function inOrder(
  ...answers: readonly ScriptedAnswer[]
): (request: ScriptedRequest, call: number) => ScriptedAnswer {
  return (_request, call) => {
    const answer = answers[call];
    if (!answer) throw new Error(`The script has ${answers.length} answers; request ${call + 1} is one too many`);
    return answer;
  };
}
