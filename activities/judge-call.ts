// The Activity `longshoreJudgeCall`: a call whose server was not loaded when the model asked for it, judged by the catalog that
// was loaded for it. The same judgement as of calls whose tools are known.
import { runAttempt } from './attempt.ts';
import type { ReadCatalog } from './catalogs/read-catalog.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { findTool } from './discovery/context.ts';
import { unavailableNow, unknownToolOf, type Fault } from './judge/faults.ts';
import { judgeTool, type Judged } from './judge/judged.ts';
import { countTokens } from './measure.ts';
import { argumentsDigestOf } from './proposed-calls.ts';
import type { JudgeCallInput, ProposedCall } from '../shared/activities.ts';
import type { Catalog } from '../shared/catalog.ts';
import type { JsonObject } from '../shared/json.ts';

const NO_CATALOG: Catalog = { version: 1, servers: [], tools: [] };

/** Makes the Activity. It asks no server. */
export function createJudgeCall(
  { store, redact }: Pick<ActivityDependencies, 'store' | 'redact'>,
  readCatalog: ReadCatalog,
): (input: JudgeCallInput) => Promise<ProposedCall> {
  return ({ call, catalog }) =>
    runAttempt(redact, async () => {
      const args = await argumentsOf(call, store);
      const { fault, ...known } = judge(call, args, await readCatalog(catalog.ref));
      const { unresolved: _unresolved, fault: _fault, ...asked } = call;
      return {
        ...asked,
        ...known,
        arguments: call.arguments,
        argumentsDigest: argumentsDigestOf(known),
        ...(fault && { fault: { ...fault, tokens: (await countTokens(fault.text)).tokens } }),
      };
    });
}

function judge(call: ProposedCall, args: JsonObject, { servers, tools }: Catalog): Judged {
  const { server, tool: name, schemaHash, tags, effect } = call;
  const failed = (fault: Fault): Judged => ({ server, tool: name, schemaHash, tags, effect, arguments: args, fault });
  const away = servers.find(({ unavailable }) => unavailable !== undefined);
  if (away) return failed(unavailableNow(call.via === undefined ? call.name : name, away));
  const tool = findTool(tools, name) ?? findTool(tools, call.name);
  return tool ? judgeTool(tool, args, { frame: NO_CATALOG }) : failed(unknownToolOf(server, name, tools));
}

async function argumentsOf(
  { arguments: args, argumentsRef }: ProposedCall,
  store: ActivityDependencies['store'],
): Promise<JsonObject> {
  if (!argumentsRef) return args;
  // The blob is verified by hash, and `longshoreCallModel` only stages objects.
  return JSON.parse(Buffer.from(await store.readBlob(argumentsRef.sha256)).toString('utf8')) as JsonObject;
}
