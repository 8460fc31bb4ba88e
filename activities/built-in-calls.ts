// Calls of the built-in servers: they touch the agent's own files, or look at the turn's catalogs, and go to no server.
import type { Attempt } from './attempt.ts';
import type { ReadCatalog } from './catalogs/read-catalog.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { ServerCatalog } from './discovery/context.ts';
import { callDiscoveryTool } from './discovery/server.ts';
import { callSandboxTool } from './sandbox/server.ts';
import type { StagedFacts } from './staging.ts';
import { textFacts } from './text-facts.ts';
import type { CallToolInput } from '../shared/activities.ts';
import type { ServerCatalogRef } from '../shared/catalog.ts';
import { DEFAULT_DISCOVERY_TOKENS } from '../shared/discovery-tools.ts';
import type { JsonObject } from '../shared/json.ts';

/** Runs a tool of the sandbox. */
export async function performSandbox(
  input: CallToolInput,
  args: JsonObject,
  attempt: Pick<Attempt, 'signal'>,
  { store }: Pick<ActivityDependencies, 'store'>,
): Promise<StagedFacts> {
  const context = { store, turn: input.turn, perResultTokens: input.perResultTokens, signal: attempt.signal };
  const answer = await callSandboxTool(input.tool, args, context);
  const facts = await textFacts(input, answer.isError ? 'error' : 'ok', answer.text);
  return { ...facts, exempt: true, ...(answer.written && { written: answer.written }) };
}

/** Answers a discovery call from the catalogs that it was given. */
export async function performDiscovery(
  input: CallToolInput,
  args: JsonObject,
  readCatalog: ReadCatalog,
): Promise<StagedFacts> {
  const { catalogs = [], tokens = DEFAULT_DISCOVERY_TOKENS } = input.discovery ?? {};
  const looked = await Promise.all(catalogs.map(async (catalog) => serverCatalog(catalog, readCatalog)));
  const answer = await callDiscoveryTool(input.tool, args, { catalogs: looked, budget: tokens });
  const facts = await textFacts(input, answer.isError ? 'error' : 'ok', answer.text);
  return { ...facts, exempt: true };
}

async function serverCatalog(
  { server, ref, hash }: ServerCatalogRef,
  readCatalog: ReadCatalog,
): Promise<ServerCatalog> {
  const { servers, tools } = await readCatalog(ref);
  const unavailable = servers.find((one) => one.name === server)?.unavailable;
  return { server, hash, tools, ...(unavailable !== undefined && { unavailable }) };
}
