// From the calls a model asked for to calls that policy can judge: names resolved, arguments parsed, checked, digested, and kept
// in history or by reference.
import { createHash } from 'node:crypto';
import type { CallCatalogs } from './judge/catalogs.ts';
import { cutName, type Fault } from './judge/faults.ts';
import { judgeAsked } from './judge/judge.ts';
import type { Judged } from './judge/judged.ts';
import { countTokens } from './measure.ts';
import { callIdFor, usableCallId } from './model/tool-calls.ts';
import { normalizeSandboxArguments } from './sandbox/server.ts';
import type { Transcript } from './transcript.ts';
import type { CallModelInput, ProposedCall } from '../shared/activities.ts';
import { formatCallKey } from '../shared/call-key.ts';
import type { FileStore } from '../shared/file-store.ts';
import { canonicalJson, type JsonObject } from '../shared/json.ts';
import type { AssistantToolCall } from '../shared/messages.ts';
import type { ModelAnswer } from '../shared/model.ts';
import { SANDBOX_SERVER } from '../shared/sandbox-tools.ts';

/** A call as policy sees it, and as the transcript keeps it. */
export interface Proposed {
  readonly call: ProposedCall;
  readonly transcript: AssistantToolCall;
}

/** Arguments above this, or beyond this together, go through history by reference. */
const INLINE_ARGUMENT_BYTES = 8 * 1024;
const INLINE_ARGUMENTS_TOTAL_BYTES = 256 * 1024;

/** Faults beyond this together are told in short: a model that gets hundreds of calls wrong has seen the schema by then. */
const FAULTS_TOTAL_CHARACTERS = 128 * 1024;
const SHORT_FAULT_CHARACTERS = 300;

/** Of arguments that are no JSON object, for people; those of hundreds of calls go without. */
const SHOWN_ARGUMENT_CHARACTERS = 200;
const SHOWN_ARGUMENTS_TOTAL_CHARACTERS = 32 * 1024;

interface Place {
  readonly input: Pick<CallModelInput, 'turn' | 'step'>;
  readonly base: Pick<Transcript, 'messages'>;
  readonly catalogs: CallCatalogs;
  readonly store: FileStore;
}

/** Resolves and checks every call, in call order. */
export async function proposeCalls(answer: ModelAnswer, place: Place): Promise<readonly Proposed[]> {
  const seen = callIdsIn(place.base.messages);
  const proposed: Proposed[] = [];
  let inlineBytes = 0;
  let faultCharacters = 0;
  let shownCharacters = 0;
  for (const [index, asked] of answer.toolCalls.entries()) {
    const callKey = formatCallKey({ turn: place.input.turn.turn, step: place.input.step, index });
    const callId = usableCallId(asked.providerCallId, seen) ? asked.providerCallId : callIdFor(callKey);
    seen.add(callId);
    const { judged, raw, wrapper } = judgeAsked(asked, place.catalogs);
    const text = JSON.stringify(judged.arguments);
    const bytes = Buffer.byteLength(text);
    const isInline = bytes <= INLINE_ARGUMENT_BYTES && inlineBytes + bytes <= INLINE_ARGUMENTS_TOTAL_BYTES;
    if (isInline) inlineBytes += bytes;
    const { fault: whole, ...known } = judged;
    const fault = whole && shortened(whole, faultCharacters);
    faultCharacters += fault?.text.length ?? 0;
    const isShown = raw !== undefined && shownCharacters < SHOWN_ARGUMENTS_TOTAL_CHARACTERS;
    const argumentsText = isShown ? raw.slice(0, SHOWN_ARGUMENT_CHARACTERS).toWellFormed() : undefined;
    shownCharacters += argumentsText?.length ?? 0;
    const call: ProposedCall = {
      callKey,
      callId,
      name: cutName(asked.name),
      ...known,
      argumentsDigest: argumentsDigestOf(judged),
      ...(!isInline && { arguments: {}, argumentsRef: await place.store.putBlob(Buffer.from(text)) }),
      ...(argumentsText !== undefined && { argumentsText }),
      ...(fault && { fault: { ...fault, tokens: (await countTokens(fault.text)).tokens } }),
    };
    const metadata = asked.providerMetadata === undefined ? {} : { providerMetadata: asked.providerMetadata };
    const input = raw ?? wrapper ?? judged.arguments;
    proposed.push({ call, transcript: { callKey, callId, name: cutName(asked.name), input, ...metadata } });
  }
  return proposed;
}

/** The digest that approvals, journals and repeated calls go by. */
export function argumentsDigestOf({
  server,
  tool,
  arguments: args,
}: Pick<Judged, 'server' | 'tool' | 'arguments'>): string {
  return createHash('sha256')
    .update(canonicalJson([server, tool, normalized(server, tool, args)]))
    .digest('hex');
}

function shortened(fault: Fault, before: number): Fault {
  if (before + fault.text.length <= FAULTS_TOTAL_CHARACTERS || fault.text.length <= SHORT_FAULT_CHARACTERS)
    return fault;
  return { ...fault, text: `${fault.text.slice(0, SHORT_FAULT_CHARACTERS).toWellFormed()}…` };
}

function normalized(server: string, tool: string, args: JsonObject): JsonObject {
  return server === SANDBOX_SERVER ? normalizeSandboxArguments(tool, args) : args;
}

function callIdsIn(messages: Transcript['messages']): Set<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    if (message.type !== 'assistant.message') continue;
    for (const call of message.toolCalls) ids.add(call.callId);
  }
  return ids;
}
