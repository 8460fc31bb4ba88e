// Facts of a result that is words of our own: no payload was staged, and none is to be.
import { createHash } from 'node:crypto';
import { countTokens } from './measure.ts';
import type { StagedFacts } from './staging.ts';
import type { CallToolInput } from '../shared/activities.ts';
import { sentencesOf, type LongshoreError } from '../shared/errors.ts';
import { TOKEN_ESTIMATOR } from '../shared/facts.ts';

/** The facts of a text. */
export async function textFacts(
  { callKey }: Pick<CallToolInput, 'callKey'>,
  outcome: StagedFacts['outcome'],
  text: string,
): Promise<StagedFacts> {
  const { tokens, exact } = await countTokens(text);
  return {
    callKey,
    outcome,
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
    mediaType: 'text/plain',
    tokens,
    tokensAreExact: exact,
    estimator: TOKEN_ESTIMATOR,
    pointerTokens: tokens,
    inlineText: text,
    blocks: [],
    imageBlocks: [],
  };
}

/** An error of the catalogue as the call's result. */
export function errorFacts(input: Pick<CallToolInput, 'callKey'>, error: LongshoreError): Promise<StagedFacts> {
  return textFacts(input, 'error', sentencesOf(error));
}
