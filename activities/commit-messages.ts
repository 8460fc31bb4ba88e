// What a commit adds to the transcript: the results of a step, and results that a person had made anew.
import type { CommittedResult, RetriedResult, StepCommit } from '../shared/activities.ts';
import type { NoticeMessage, ToolResultMessage, ToolResultPart, TranscriptMessage } from '../shared/messages.ts';
import { countTokens } from './measure.ts';

/** The messages that a commit adds, in call order. */
export function committedMessages(commit: StepCommit | undefined): readonly TranscriptMessage[] {
  return (commit?.results ?? []).map(resultMessage);
}

/** Tokens that a commit's results cost in context. */
export function committedTokens(commit: StepCommit | undefined): number {
  return (commit?.results ?? []).reduce((sum, result) => sum + result.tokens, 0);
}

/** The messages that tell of results made anew, after the commit's own: the calls have their results already. */
export function retriedMessages(retried: readonly RetriedResult[] = []): readonly NoticeMessage[] {
  return retried.map(({ result, by, reason }) => {
    const words = {
      type: 'text' as const,
      text: retriedWords(result, { by, ...(reason !== undefined && { reason }) }),
    };
    return { type: 'notice', parts: [words, ...partsOf(result)] };
  });
}

/** Tokens of notices beside what their results cost. */
export async function noticeTokens(
  notices: readonly NoticeMessage[],
  retried: readonly RetriedResult[] = [],
): Promise<number> {
  let total = retried.reduce((sum, { result }) => sum + result.tokens, 0);
  for (const [index, { parts }] of notices.entries()) {
    const own = index < retried.length ? parts.slice(0, 1) : parts;
    for (const part of own) if (part.type === 'text') total += (await countTokens(part.text)).tokens;
  }
  return total;
}

function retriedWords(
  { callKey, callId, server, tool, outcome }: CommittedResult,
  told: Omit<RetriedResult, 'result'>,
): string {
  const why = told.reason === undefined ? '' : `, because: ${told.reason}`;
  const first = `[A person (${told.by}) distrusted the result of your earlier call ${callKey} (${server}/${tool}, id ${callId}) and had it made again${why}. `;
  if (outcome !== 'ok')
    return `${first}It ended as \`${outcome}\`; the earlier result and its files stand as they were:]`;
  return `${first}This is its result now; it takes the place of the earlier one. What you concluded from that may be wrong. Paths of the earlier result answer with the new content:]`;
}

function resultMessage(result: CommittedResult): ToolResultMessage {
  const { callKey, callId, name, outcome, placement, rule } = result;
  return { type: 'tool.result', callKey, callId, name, outcome, placement, rule, parts: partsOf(result) };
}

function partsOf({ note, context, images }: CommittedResult): readonly ToolResultPart[] {
  return [
    ...(note === undefined ? [] : [{ type: 'text' as const, text: note }]),
    'text' in context ? { type: 'text', text: context.text } : { type: 'text-blob', ref: context.blob },
    ...images.map(({ sha256, bytes, mediaType }) => ({
      type: 'image-blob' as const,
      ref: { sha256, bytes },
      mediaType,
    })),
  ];
}
