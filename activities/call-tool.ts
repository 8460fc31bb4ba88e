// The Activity `longshoreCallTool`: one tool call, its request sent once. Source: architecture D11.
import { createHash } from 'node:crypto';
import { runAttempt, type Attempt } from './attempt.ts';
import { performDiscovery, performSandbox } from './built-in-calls.ts';
import { createPresentTools, type PresentTools } from './catalogs/present-tools.ts';
import { createCatalogReader, type ReadCatalog } from './catalogs/read-catalog.ts';
import { checkSchema } from './check-schema.ts';
import { compactFacts } from './compact-facts.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { pickPayload } from './payload/pick.ts';
import { stageResult, type StagedFacts } from './staging.ts';
import { openJournal, unrecordedKey, type Journal, type JournalKey, type JournalState } from './store/journal.ts';
import { errorFacts, textFacts } from './text-facts.ts';
import type { CallToolInput } from '../shared/activities.ts';
import { DISCOVERY_SERVER } from '../shared/discovery-tools.ts';
import { LongshoreError, messageOf, withoutStop } from '../shared/errors.ts';
import type { ResultFacts } from '../shared/facts.ts';
import { canonicalJson, isObject, type JsonObject } from '../shared/json.ts';
import { SANDBOX_SERVER } from '../shared/sandbox-tools.ts';
import type { ToolResponse } from '../shared/tool-server.ts';

/** What calls go by beside their inputs, made once a Worker. */
export interface CallServices {
  readonly present: PresentTools;
  readonly readCatalog: ReadCatalog;
}

type Tools = ActivityDependencies & CallServices;

/** Makes the Activity. */
export function createCallTool(
  dependencies: ActivityDependencies,
  services: CallServices = {
    present: createPresentTools(dependencies),
    readCatalog: createCatalogReader(dependencies.store),
  },
): (input: CallToolInput) => Promise<ResultFacts> {
  const tools = { ...dependencies, ...services };
  return (input) =>
    runAttempt(dependencies.redact, async (attempt) => {
      const facts = await compactFacts(await perform(input, attempt, tools), dependencies.store);
      return { ...facts, attempts: attempt.number, durationMs: Date.now() - attempt.startedMs };
    });
}

async function perform(input: CallToolInput, attempt: Attempt, dependencies: Tools): Promise<StagedFacts> {
  const args = await resolveArguments(input, dependencies);
  if (input.server === SANDBOX_SERVER) return performSandbox(input, args, attempt, dependencies);
  if (input.server === DISCOVERY_SERVER) return performDiscovery(input, args, dependencies.readCatalog);
  const key = journalKey(input, args);
  if (input.effect === 'write') return sendOnce({ input, args, key }, attempt, dependencies);
  const unsent = await beforeSending(input, attempt, dependencies);
  if (unsent) return unsent;
  const idempotencyKey = unrecordedKey(key, { mayChange: input.effect !== 'read' });
  return send({ input, args, idempotencyKey }, attempt, dependencies);
}

/** What the call ends in before anything of it was sent; null where it may be. */
async function beforeSending(input: CallToolInput, attempt: Attempt, dependencies: Tools): Promise<StagedFacts | null> {
  if (!input.checkSchema) return null;
  try {
    return await checkSchema(input, { attempt, dependencies, present: dependencies.present });
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    // A write's failure is told at once, as that of its sending is.
    if (error.retryable && !attempt.isLast && input.effect !== 'write') throw error;
    return errorFacts(input, error);
  }
}

/** The digest is that of `ProposedCall.argumentsDigest`, by Node's hash: arguments may be large. */
function journalKey(input: CallToolInput, args: JsonObject): JournalKey {
  const { callKey, generation, retry, server, tool } = input;
  const argumentsDigest = createHash('sha256')
    .update(canonicalJson([server, tool, args]))
    .digest('hex');
  return {
    workflowId: input.turn.workflowId,
    callKey,
    generation,
    ...(retry !== undefined && { retry }),
    argumentsDigest,
  };
}

/** A call that must not be sent twice: the journal says whether an earlier attempt has sent it. */
async function sendOnce(
  { input, args, key }: Omit<Sending, 'idempotencyKey'> & { readonly key: JournalKey },
  attempt: Attempt,
  dependencies: Tools,
): Promise<StagedFacts> {
  const journal = openJournal(dependencies.store, key);
  const before = await stateBefore(journal, attempt);
  if ('unreadable' in before) {
    return unknownOutcome(
      input,
      `its record cannot be read, and an earlier attempt may have sent it: ${before.unreadable}`,
    );
  }
  // Only this function writes journal facts, so that what it reads back are staged facts.
  if (before.state === 'answered') return before.facts as unknown as StagedFacts;
  const unsent = before.state === 'sent' ? null : await beforeSending(input, attempt, dependencies);
  if (unsent) return unsent;
  const idempotencyKey = before.state === 'sent' ? null : await claim(journal, attempt);
  if (idempotencyKey === null) {
    return unknownOutcome(input, 'an earlier attempt had sent it when its Worker was lost');
  }
  let facts: StagedFacts;
  try {
    facts = await send({ input, args, idempotencyKey }, attempt, dependencies);
  } catch (error) {
    if (!(error instanceof LongshoreError) && attempt.signal.aborted) throw error;
    facts = await afterSending(input, error, dependencies.redact);
  }
  return record(journal, facts);
}

/** What the journal says; where it can say nothing at all, a request may be out that nobody knows of. */
async function stateBefore(
  journal: Journal,
  { number, isLast }: Attempt,
): Promise<JournalState | { unreadable: string }> {
  try {
    return await journal.state();
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    const mayBeOut = error.retryable ? isLast && number > 1 : true;
    if (!mayBeOut) throw error;
    return { unreadable: withoutStop(error.message) };
  }
}

/** Nothing is sent that is not on record as sent; whoever hears of the failure must not take the call for one that may have run. */
async function claim(journal: Journal, { name }: Attempt): Promise<string | null> {
  try {
    return await journal.markSent(name);
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    const message = `It was not made, since it could not be put on record before: ${error.message}`;
    throw new LongshoreError(error.type, message, error.mend, { cause: error });
  }
}

/** An answer that is here is worth more than its record: without the record a later attempt would say `unknown`. */
async function record(journal: Journal, facts: StagedFacts): Promise<StagedFacts> {
  try {
    await journal.markAnswered(JSON.parse(JSON.stringify(facts)));
    return facts;
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    return { ...facts, note: { ...noteOf(facts), unrecorded: error.type } };
  }
}

/** A write whose request was provably never sent has failed; whatever else went wrong, it may have been done: unknown. */
async function afterSending(
  input: CallToolInput,
  error: unknown,
  redact: (text: string) => string,
): Promise<StagedFacts> {
  if (error instanceof LongshoreError && error.type === 'McpServerUnavailable') return errorFacts(input, error);
  const why = error instanceof LongshoreError ? error.message : `it was sent, but ${redact(messageOf(error))}`;
  return unknownOutcome(input, withoutStop(why));
}

/** A request as it goes out. */
interface Sending {
  readonly input: CallToolInput;
  readonly args: JsonObject;
  readonly idempotencyKey: string;
}

async function send(
  { input, args, idempotencyKey }: Sending,
  attempt: Attempt,
  dependencies: Tools,
): Promise<StagedFacts> {
  const { pool, present } = dependencies;
  const late: { unsent?: StagedFacts | null } = {};
  let response: ToolResponse;
  try {
    response = await pool.server(input.server).callTool({
      tool: input.tool,
      arguments: args,
      idempotencyKey,
      signal: attempt.signal,
      ...(input.checkSchema && {
        beforeResend: async () => {
          late.unsent = await checkSchema(input, { attempt, dependencies, present });
          if (late.unsent) throw overtaken(input);
        },
      }),
    });
  } catch (error) {
    if (late.unsent) return late.unsent;
    if (!(error instanceof LongshoreError) || input.effect === 'write') throw error;
    if (error.retryable && !attempt.isLast) throw error;
    return errorFacts(input, error);
  }
  const facts = await keep(input, response, attempt, dependencies);
  const { workflowId } = input.turn;
  if (!pool.toolChanges.isOvertaken(workflowId, input.server)) return facts;
  // A turn that loads catalogs loads this one anew: it is told once.
  if (input.checkSchema) pool.toolChanges.listing(workflowId, input.server);
  return { ...facts, note: { ...noteOf(facts), catalogChanged: true } };
}

/** Never seen by anybody: the facts say it. */
function overtaken({ server, tool }: CallToolInput): LongshoreError {
  const message = `Tool \`${tool}\` of MCP server \`${server}\` was not called: its schema has changed`;
  return new LongshoreError('McpServerUnavailable', message, 'Call it with arguments that fit the new one.');
}

/** The call was made: what goes wrong with its answer is a result, told in words. A write's is then unknown. */
async function keep(
  input: CallToolInput,
  response: ToolResponse,
  attempt: Attempt,
  { store, redact, redactBytes }: ActivityDependencies,
): Promise<StagedFacts> {
  try {
    return await stageResult({ store, call: input, payload: pickPayload(response), redact: redactBytes });
  } catch (error) {
    if (error instanceof LongshoreError || attempt.signal.aborted || input.effect === 'write') throw error;
    const why = withoutStop(redact(messageOf(error)));
    return textFacts(input, 'error', `The tool answered, but its answer could not be kept: ${why}.`);
  }
}

function noteOf({ note }: StagedFacts): JsonObject {
  return isObject(note) ? note : {};
}

function unknownOutcome(input: CallToolInput, why: string): Promise<StagedFacts> {
  const text =
    `The outcome of this call is unknown: ${why}. It was not sent again, since it may have taken effect. ` +
    'Check the state with a tool that reads before you decide whether to repeat it.';
  return textFacts(input, 'unknown', text);
}

async function resolveArguments(input: CallToolInput, { store }: ActivityDependencies): Promise<JsonObject> {
  if (!input.argumentsRef) return input.arguments;
  const parsed: unknown = JSON.parse(Buffer.from(await store.readBlob(input.argumentsRef.sha256)).toString('utf8'));
  // The blob is verified by hash, and `longshoreCallModel` only stages objects.
  return parsed as JsonObject;
}
