// From the calls a model asked for to calls that policy can judge: names resolved, arguments parsed, checked, digested.
import { parseArguments, callIdFor, usableCallId, validateArguments } from './model/tool-calls.ts';
import { countTokens } from './measure.ts';
import { normalizeSandboxArguments } from './sandbox/server.ts';
import type { Transcript } from './transcript.ts';
import type { CallModelInput, ProposedCall } from '../shared/activities.ts';
import { formatCallKey } from '../shared/call-key.ts';
import type { Catalog, CatalogServer, CatalogTool } from '../shared/catalog.ts';
import { digestOf } from '../shared/digest.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { JsonObject } from '../shared/json.ts';
import type { AssistantToolCall } from '../shared/messages.ts';
import type { ModelAnswer, RequestTool } from '../shared/model.ts';
import { SANDBOX_SERVER } from '../shared/sandbox-tools.ts';
import { nearest } from '../shared/spec-nearest.ts';

/** A catalog with what requests need of it. */
export interface CatalogIndex {
  readonly catalog: Catalog;
  readonly definitions: readonly RequestTool[];
  readonly definitionTokens: number;
}

/** A call as policy sees it, and as the transcript keeps it. */
export interface Proposed {
  readonly call: ProposedCall;
  readonly transcript: AssistantToolCall;
}

/** Arguments above this, or beyond this together, go through history by reference. */
const INLINE_ARGUMENT_BYTES = 8 * 1024;
const INLINE_ARGUMENTS_TOTAL_BYTES = 256 * 1024;

/** A schema is shown whole in an error up to this many characters. */
const SHOWN_SCHEMA_CHARACTERS = 4_000;

/** Of why a server is not there. */
const REASON_CHARACTERS = 1_000;

/** Faults beyond this together are told in short: a model that gets hundreds of calls wrong has seen the schema by then. */
const FAULTS_TOTAL_CHARACTERS = 128 * 1024;
const SHORT_FAULT_CHARACTERS = 300;

/** Of arguments that are no JSON object, for people; those of hundreds of calls go without. */
const SHOWN_ARGUMENT_CHARACTERS = 200;
const SHOWN_ARGUMENTS_TOTAL_CHARACTERS = 32 * 1024;

interface Place {
  readonly input: Pick<CallModelInput, 'turn' | 'step'>;
  readonly base: Pick<Transcript, 'messages'>;
  readonly catalog: CatalogIndex;
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
    const { judged, raw } = judge(asked, place.catalog.catalog);
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
      argumentsDigest: digestOf([judged.server, judged.tool, normalized(judged)]),
      ...(!isInline && { arguments: {}, argumentsRef: await place.store.putBlob(Buffer.from(text)) }),
      ...(argumentsText !== undefined && { argumentsText }),
      ...(fault && { fault: { ...fault, tokens: (await countTokens(fault.text)).tokens } }),
    };
    const metadata = asked.providerMetadata === undefined ? {} : { providerMetadata: asked.providerMetadata };
    const input = raw ?? judged.arguments;
    proposed.push({ call, transcript: { callKey, callId, name: cutName(asked.name), input, ...metadata } });
  }
  return proposed;
}

interface Judged extends Pick<ProposedCall, 'server' | 'tool' | 'arguments' | 'schemaHash' | 'tags' | 'effect'> {
  readonly fault?: Fault;
}

interface Fault {
  readonly type: 'unknown-tool' | 'bad-arguments';
  readonly text: string;
}

function judge(
  asked: ModelAnswer['toolCalls'][number],
  catalog: Catalog,
): { readonly judged: Judged; readonly raw?: string } {
  const tool = findTool(asked.name, catalog);
  const parsed = parseArguments(asked.inputText);
  const raw = 'input' in parsed ? {} : { raw: parsed.raw };
  if (!tool) return { judged: unknownTool(asked.name, catalog, 'input' in parsed ? parsed.input : {}), ...raw };
  const { server, tool: name, schemaHash, tags, effect } = tool;
  const known = { server, tool: name, schemaHash, tags, effect };
  if (!('input' in parsed)) {
    const fault = badArguments(tool, `the arguments are not a JSON object: ${parsed.problem}`);
    return { judged: { ...known, arguments: {}, fault }, ...raw };
  }
  const problem = validateArguments(tool.inputSchema, parsed.input);
  if (problem === null) return { judged: { ...known, arguments: parsed.input } };
  return { judged: { ...known, arguments: parsed.input, fault: badArguments(tool, problem) } };
}

function shortened(fault: Fault, before: number): Fault {
  if (before + fault.text.length <= FAULTS_TOTAL_CHARACTERS || fault.text.length <= SHORT_FAULT_CHARACTERS)
    return fault;
  return { ...fault, text: `${fault.text.slice(0, SHORT_FAULT_CHARACTERS).toWellFormed()}…` };
}

/** By its exposed name; a bare tool name that only one server offers will do too. */
function findTool(name: string, catalog: Catalog): CatalogTool | null {
  const exact = catalog.tools.find((tool) => tool.exposedName === name);
  if (exact) return exact;
  const bare = catalog.tools.filter((tool) => tool.tool === name);
  return bare.length === 1 ? (bare[0] ?? null) : null;
}

function unknownTool(name: string, catalog: Catalog, input: JsonObject): Judged {
  const judged = {
    server: '',
    tool: cutName(name),
    arguments: input,
    schemaHash: '',
    tags: [],
    effect: 'write' as const,
  };
  const away = catalog.servers.find((server) => server.unavailable !== undefined && isOf(name, server.name));
  if (away) return { ...judged, fault: { type: 'unknown-tool', text: unavailableText(name, away) } };
  const names = catalog.tools.map((tool) => tool.exposedName);
  const near = nearest(cutName(name), names);
  const close = catalog.tools.find((tool) => tool.exposedName === near);
  const hint = close ? ` The nearest is \`${close.exposedName}\`, with this schema: ${schemaText(close)}` : '';
  const text =
    `There is no tool \`${cutName(name)}\`; the call was not made. ` +
    `The tools are: ${names.slice(0, 100).join(', ')}.${hint}`;
  return { ...judged, fault: { type: 'unknown-tool', text } };
}

/** By the form in which names are exposed, and the one in which people write them. */
function isOf(name: string, server: string): boolean {
  return name.startsWith(`${server}__`) || name.startsWith(`${server}.`);
}

function unavailableText(name: string, { name: server, unavailable = '' }: CatalogServer): string {
  const reason = unavailable
    .replace(/[.\s]+$/, '')
    .slice(0, REASON_CHARACTERS)
    .toWellFormed();
  return (
    `\`${cutName(name)}\` was not called: server \`${server}\` was not available when this turn asked for its tools: ${reason}. ` +
    'None of its tools can be called in this turn; a new turn asks it again.'
  );
}

function badArguments(tool: CatalogTool, problem: string): Fault {
  const text = `\`${tool.exposedName}\` was not called: ${problem}. Call it again with arguments that fit this schema: ${schemaText(tool)}`;
  return { type: 'bad-arguments', text };
}

function schemaText(tool: CatalogTool): string {
  const text = JSON.stringify(tool.inputSchema);
  return text.length <= SHOWN_SCHEMA_CHARACTERS ? text : `${text.slice(0, SHOWN_SCHEMA_CHARACTERS).toWellFormed()}…`;
}

function normalized({ server, tool, arguments: args }: Judged): JsonObject {
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

/** A name goes into records and messages: bounded, and well-formed. */
function cutName(name: string): string {
  return name.slice(0, 128).toWellFormed();
}
