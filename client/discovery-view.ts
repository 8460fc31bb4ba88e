// What a turn's tool definitions took and gave, from its history alone: tokens of definitions, discovery, tools that were
// preloaded and called, the way to the first useful call, and at which stage calls failed. Part of `turns show --json`.
import type { CatalogMode, CatalogServer } from '../shared/catalog.ts';
import { DISCOVERY_SERVER } from '../shared/discovery-tools.ts';
import { BUILT_IN_SERVERS, SANDBOX_SERVER } from '../shared/sandbox-tools.ts';
import type { CallRecord, StepRecord, TurnRecord } from './turn-record.ts';

/** Where a call went wrong. */
export type FailureStage =
  /** There is no such server, or it is not available. */
  | 'server'
  /** The server has no such tool. */
  | 'tool'
  /** The arguments do not fit the tool. */
  | 'arguments'
  /** The tool is another one by now, and the call was not sent. */
  | 'schema'
  /** The tool itself answered with an error, or what became of the call is not known. */
  | 'execution'
  /** A tool of `sandbox` failed on a result. */
  | 'reading'
  /** A discovery tool could not answer. */
  | 'discovery';

/** One server of the turn; built-in ones are left out. */
export interface ServerDiscovery {
  readonly server: string;
  readonly mode: CatalogMode;
  /** `small`: it is preloaded, against the spec, since it takes no more than the discovery tools. */
  readonly modeReason: 'small' | null;
  /** How many tools it offers to the agent, as far as the turn knows. */
  readonly tools: number;
  /** Tokens of all their definitions; null where history does not have them apart from others'. */
  readonly definitionTokens: number | null;
  /** Of its tools, those in the tool array; null for `preload_tools` by tags, whose number history does not have. */
  readonly preloaded: number | null;
  /** Tools that were called. */
  readonly called: number;
  /** Preloaded tools that were not called. */
  readonly preloadedUnused: number | null;
  /** How often its catalog was asked for in the middle of the turn. */
  readonly loads: number;
  /** How often it was another one then. */
  readonly changes: number;
  /** Tools that cannot be used, and why; at most 20 one by one. */
  readonly leftOut: CatalogServer['problems'];
}

/** A tool that was called. */
export interface CalledTool {
  readonly server: string;
  readonly tool: string;
  readonly calls: number;
}

/** The first call of a tool that is neither Longshore's own nor failed. */
export interface FirstUsefulCall {
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  /** From the turn's beginning until the call was made; null where history has no times. */
  readonly afterMs: number | null;
  /** Model calls until then. */
  readonly modelCalls: number;
  /** What these carried together, by our count. */
  readonly sentTokens: number;
}

/** A call that failed. */
export interface FailedCall {
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  readonly stage: FailureStage;
}

/** Key `discovery` of a turn. */
export interface DiscoveryView {
  readonly servers: readonly ServerDiscovery[];
  /** Tokens of definitions in each model call, in order; null where history does not have them. */
  readonly definitionTokens: readonly (number | null)[];
  /** Calls of discovery tools, `call_tool` not counted: it is the call of the tool behind it. */
  readonly calls: number;
  /** What their answers take in context. */
  readonly tokens: number;
  /** Model calls that asked for nothing but discovery. */
  readonly roundTrips: number;
  /** Built-in servers are left out. In order of server and tool. */
  readonly toolsCalled: readonly CalledTool[];
  readonly firstUsefulCall: FirstUsefulCall | null;
  readonly failures: readonly FailedCall[];
}

/** What history tells of a turn's definitions and discovery. */
export function discoveryOf(record: TurnRecord): DiscoveryView {
  const steps = record.steps.filter((step) => step.model !== undefined);
  const calls = steps.flatMap((step) => step.calls);
  const asked = calls.filter(isDiscovery);
  const called = toolsCalled(calls);
  return {
    servers: (record.catalog?.servers ?? [])
      .filter(({ name }) => !BUILT_IN_SERVERS.includes(name))
      .map((server) => serverView(server, called, record)),
    definitionTokens: steps.map((step) => step.model?.definitionTokens ?? record.catalog?.definitionTokens ?? null),
    calls: asked.length,
    tokens: asked.reduce((sum, call) => sum + answerTokens(call), 0),
    roundTrips: steps.filter(isOnlyDiscovery).length,
    toolsCalled: called,
    firstUsefulCall: firstUsefulCall(steps, record),
    failures: calls.flatMap((call) => {
      const stage = stageOf(call);
      const { callKey, server, tool } = call.proposed;
      return stage === null ? [] : [{ callKey, server, tool, stage }];
    }),
  };
}

/** Whether a step asked for discovery and for nothing else. */
export function isOnlyDiscovery({ calls }: StepRecord): boolean {
  return calls.length > 0 && calls.every(isDiscovery);
}

/** Whether a call is one of a discovery tool. */
export function isDiscovery({ proposed }: CallRecord): boolean {
  return proposed.server === DISCOVERY_SERVER;
}

/** What an answer takes in context, placed or not. */
export function answerTokens({ committed, facts }: CallRecord): number {
  return committed?.tokens ?? facts?.tokens ?? 0;
}

/** Whether a call is of a tool that is not Longshore's own. */
export function isOfServer({ proposed }: CallRecord): boolean {
  return proposed.server !== '' && !BUILT_IN_SERVERS.includes(proposed.server);
}

/** Whether a call got as far as its tool: its name, arguments and schema were right. */
export function isMade(call: CallRecord): boolean {
  return call.proposed.fault === undefined && call.proposed.unresolved === undefined && !call.facts?.schemaChanged;
}

/** Where a call failed; null for one that did not fail, has no result yet, or was refused by a person. */
export function stageOf(call: CallRecord): FailureStage | null {
  const { proposed, facts } = call;
  if (proposed.fault) return proposed.fault.stage ?? (proposed.fault.type === 'unknown-tool' ? 'tool' : 'arguments');
  const outcome = call.committed?.outcome ?? facts?.outcome;
  if (outcome !== 'error' && outcome !== 'unknown') return null;
  if (facts?.schemaChanged) return facts.schemaChanged.is === null ? 'tool' : 'schema';
  if (proposed.server === SANDBOX_SERVER) return 'reading';
  return isDiscovery(call) ? 'discovery' : 'execution';
}

function toolsCalled(calls: readonly CallRecord[]): readonly CalledTool[] {
  const counts = new Map<string, CalledTool>();
  for (const call of calls) {
    if (!isOfServer(call) || !isMade(call)) continue;
    const { server, tool } = call.proposed;
    const key = JSON.stringify([server, tool]);
    counts.set(key, { server, tool, calls: (counts.get(key)?.calls ?? 0) + 1 });
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, called]) => called);
}

function serverView(server: CatalogServer, called: readonly CalledTool[], record: TurnRecord): ServerDiscovery {
  const { name, mode = 'preloaded', modeReason = null } = server;
  const own = called.filter((tool) => tool.server === name);
  const loads = record.loaded.filter((loaded) => loaded.server === name);
  const known = loads.at(-1) ?? record.catalog?.catalogs?.find((facts) => facts.server === name);
  const preloaded = preloadedTools(server, record);
  const names = selectedNames(name, record);
  const used = mode === 'selective' ? own.filter(({ tool }) => names?.includes(tool)).length : own.length;
  return {
    server: name,
    mode,
    modeReason,
    tools: known?.toolCount ?? server.toolCount,
    definitionTokens: known?.definitionTokens ?? null,
    preloaded,
    called: own.length,
    preloadedUnused: preloaded === null ? null : mode === 'deferred' ? 0 : Math.max(0, preloaded - used),
    loads: loads.length,
    changes: loads.filter(({ changedFrom }) => changedFrom !== undefined).length,
    leftOut: known?.problems ?? server.problems,
  };
}

function preloadedTools({ name, mode = 'preloaded', toolCount }: CatalogServer, record: TurnRecord): number | null {
  if (mode === 'preloaded') return toolCount;
  return mode === 'deferred' ? 0 : (selectedNames(name, record)?.length ?? null);
}

/** Of a selective server; null where tags select too. */
function selectedNames(server: string, { input }: TurnRecord): readonly string[] | null {
  const selectors = input?.spec?.mcp_servers.find(({ name }) => name === server)?.preload_tools;
  if (!selectors || selectors.some((selector) => selector.startsWith('@'))) return null;
  return [...new Set(selectors)];
}

function firstUsefulCall(steps: readonly StepRecord[], record: TurnRecord): FirstUsefulCall | null {
  let sentTokens = 0;
  for (const [index, step] of steps.entries()) {
    sentTokens += step.model?.sentTokens ?? 0;
    const call = step.calls.find((one) => isOfServer(one) && (one.committed?.outcome ?? one.facts?.outcome) === 'ok');
    if (!call) continue;
    const { callKey, server, tool } = call.proposed;
    const { startedMs } = call;
    const isTimed = startedMs !== undefined && record.startedMs !== undefined;
    const afterMs = isTimed ? Math.max(0, startedMs - (record.startedMs ?? 0)) : null;
    return { callKey, server, tool, afterMs, modelCalls: index + 1, sentTokens };
  }
  return null;
}
