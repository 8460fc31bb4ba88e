// Calls whose server was not loaded when the model asked for them: the catalog is loaded, the call judged by it, and from then on
// it is a call like any other. What fails on the way is the call's result, in words: nothing was sent.
import { isCancellation } from '@temporalio/workflow';
import type { JudgeCallInput, ProposedCall, TurnIdentity } from '../shared/activities.ts';
import { spoken, type SpokenResult } from '../shared/results.ts';
import type { TurnCatalogs } from './catalogs.ts';
import { cancelledBeforeStart, errorRecordOf } from './failures.ts';

/** What calls are judged with. */
export interface Judging {
  readonly turn: TurnIdentity;
  readonly catalogs: Pick<TurnCatalogs, 'need'>;
  readonly judge: (input: JudgeCallInput) => Promise<ProposedCall>;
}

/** A call that is judged, or the result that it ended in before. */
export type Judgement = { readonly call: ProposedCall } | { readonly spoken: SpokenResult };

/** Judges the unresolved ones of a step, by call key. Never rejects. One is told after all earlier ones of its server. */
export function judgeInOrder(
  calls: readonly ProposedCall[],
  judging: Judging,
): ReadonlyMap<string, Promise<Judgement>> {
  const judgements = new Map<string, Promise<Judgement>>();
  const last = new Map<string, Promise<Judgement>>();
  for (const call of calls) {
    if (!call.unresolved) continue;
    const judgement = after(last.get(call.server), judgeOne(call, judging));
    judgements.set(call.callKey, judgement);
    last.set(call.server, judgement);
  }
  return judgements;
}

/** What a call ends in that could not be prepared. */
export function notPrepared({ server }: ProposedCall, failure: unknown): SpokenResult {
  if (isCancellation(failure)) return cancelledBeforeStart();
  const { message } = errorRecordOf(failure);
  return spoken(
    'error',
    `The call was not made: what it needs of server \`${server}\` could not be looked up: ${message}`,
  );
}

async function after(earlier: Promise<Judgement> | undefined, judgement: Promise<Judgement>): Promise<Judgement> {
  await earlier;
  return judgement;
}

async function judgeOne(call: ProposedCall, { turn, catalogs, judge }: Judging): Promise<Judgement> {
  try {
    const { server, ref, hash } = await catalogs.need(call.server, 'call');
    return { call: await judge({ turn, call, catalog: { server, ref, hash } }) };
  } catch (failure) {
    return { spoken: notPrepared(call, failure) };
  }
}
