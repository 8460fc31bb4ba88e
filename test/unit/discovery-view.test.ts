// What a turn's record tells of definitions, discovery and failures: from events as the server gives them, and from histories
// that were stored before there was deferral.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';
import { discoveryOf, type DiscoveryView } from '../../client/discovery-view.ts';
import { TurnRecorder } from '../../client/turn-record.ts';
import { discoveryLines } from '../../cli/discovery-lines.ts';
import type { CatalogFacts, ServerCatalogFacts } from '../../shared/catalog.ts';
import { DISCOVERY_TOOLS } from '../../shared/discovery-tools.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import {
  eventTurn as turn,
  proposedCall as proposed,
  recorderClient,
  someRef as ref,
  TurnEvents,
} from '../support/turn-events.ts';

const spec = requireSpec(
  {
    model: { name: 'openai/x' },
    mcp_servers: [
      { name: 'chat', preload_tools: ['post', 'read'] },
      { name: 'files', preload: true },
      { name: 'web' },
      { name: 'tags', preload_tools: ['@read-only'] },
    ],
  },
  'test',
);

const catalog: CatalogFacts = {
  ref,
  toolCount: 20,
  definitionTokens: 900,
  servers: [
    { name: 'sandbox', toolCount: 6, timeoutMs: 1, problems: [] },
    { name: 'chat', mode: 'selective', toolCount: 30, timeoutMs: 1, problems: [] },
    {
      name: 'files',
      mode: 'preloaded',
      toolCount: 4,
      timeoutMs: 1,
      problems: [{ tool: 'odd', problem: 'no \u001b[31mschema' }],
    },
    { name: 'web', mode: 'deferred', unasked: true, toolCount: 0, timeoutMs: 1, problems: [] },
    { name: 'tags', mode: 'selective', toolCount: 9, timeoutMs: 1, problems: [] },
  ],
};

/** A turn that searches, calls wrongly in every way, and gets there. */
async function deferredTurn(): Promise<DiscoveryView> {
  const events = new TurnEvents();
  events.started({ version: 1, spec, deferral: 1 });
  events.activity('longshoreListTools', {}, catalog);
  const search = proposed('0/0', 'discovery', 'search_tools');
  events.model(0, [search], { tokens: 1_000, definitions: 900 });
  const web: ServerCatalogFacts = {
    server: 'web',
    ref,
    hash: 'h1',
    toolCount: 120,
    definitionTokens: 9_000,
    problems: [{ tool: 'old', problem: 'a circle' }],
  };
  events.activity('longshoreLoadCatalog', { turn, server: {}, reason: 'discovery' }, web);
  events.call(search, 'ok', { tokens: 77 });
  const late = proposed('1/0', 'web', 'get', { via: 'call_tool', unresolved: true, schemaHash: '' });
  const judged = proposed('1/0', 'web', 'get', {
    via: 'call_tool',
    fault: { type: 'bad-arguments', text: 'no', tokens: 1 },
  });
  const unknown = proposed('1/1', '', 'nothing', { fault: { type: 'unknown-tool', text: 'no', tokens: 1 } });
  const away = proposed('1/2', '', 'x', { fault: { type: 'unknown-tool', text: 'no', tokens: 1, stage: 'server' } });
  const changed = proposed('1/3', 'web', 'put');
  const gone = proposed('1/4', 'web', 'old');
  const fails = proposed('1/5', 'files', 'read');
  const misread = proposed('1/6', 'sandbox', 'query_json');
  const lost = proposed('1/7', 'discovery', 'get_tool_info');
  const step = [late, unknown, away, changed, gone, fails, misread, lost];
  events.model(1, step, { tokens: 1_100, definitions: 900 });
  events.activity('longshoreJudgeCall', { turn, call: late }, judged);
  events.call(changed, 'error', { schemaChanged: { was: 'a', is: 'b' } });
  events.call(gone, 'error', { schemaChanged: { was: 'a', is: null } });
  events.call(fails, 'error');
  events.call(misread, 'error');
  events.call(lost, 'error');
  events.activity(
    'longshoreLoadCatalog',
    { turn, server: {}, reason: 'changed' },
    { ...web, hash: 'h2', changedFrom: 'h1', toolCount: 119 },
  );
  const right = proposed('2/0', 'web', 'get', { via: 'call_tool' });
  const read = proposed('2/1', 'chat', 'read');
  events.model(2, [right, read], { tokens: 1_200, definitions: 900 });
  events.call(right, 'ok');
  events.call(read, 'ok');
  return discoveryOf(await events.record());
}

describe('the measurements of a turn', () => {
  it('[DISC-40] have the definitions of each model call, discovery calls, and model calls for these alone', async () => {
    const view = await deferredTurn();
    expect(view.definitionTokens).toEqual([900, 900, 900]);
    expect([view.calls, view.tokens, view.roundTrips]).toEqual([2, 87, 1]);
  });

  it('[DISC-40] name each tool that was called, and how many were preloaded for nothing', async () => {
    const { servers, toolsCalled } = await deferredTurn();
    expect(toolsCalled).toEqual([
      { server: 'chat', tool: 'read', calls: 1 },
      { server: 'files', tool: 'read', calls: 1 },
      { server: 'web', tool: 'get', calls: 1 },
    ]);
    expect(
      servers.map(({ server, mode, tools, preloaded, called, preloadedUnused }) => [
        server,
        mode,
        tools,
        preloaded,
        called,
        preloadedUnused,
      ]),
    ).toEqual([
      ['chat', 'selective', 30, 2, 1, 1],
      ['files', 'preloaded', 4, 4, 1, 3],
      ['web', 'deferred', 119, 0, 1, 0],
      ['tags', 'selective', 9, null, 0, null],
    ]);
    expect(servers[2]).toMatchObject({ definitionTokens: 9_000, loads: 2, changes: 1 });
    expect(servers.map(({ leftOut }) => leftOut.map(({ tool }) => tool))).toEqual([[], ['odd'], ['old'], []]);
  });

  it('[DISC-40] count time and tokens until the first call of a server that went well', async () => {
    const { firstUsefulCall } = await deferredTurn();
    expect(firstUsefulCall).toMatchObject({
      callKey: 't1/2/0',
      server: 'web',
      tool: 'get',
      modelCalls: 3,
      sentTokens: 3_300,
    });
    expect(firstUsefulCall?.afterMs).toBeGreaterThan(20);
  });

  it('[DISC-40] say at which stage each failed call failed', async () => {
    const { failures } = await deferredTurn();
    expect(failures.map(({ callKey, stage }) => [callKey, stage])).toEqual([
      ['t1/1/0', 'arguments'],
      ['t1/1/1', 'tool'],
      ['t1/1/2', 'server'],
      ['t1/1/3', 'schema'],
      ['t1/1/4', 'tool'],
      ['t1/1/5', 'execution'],
      ['t1/1/6', 'reading'],
      ['t1/1/7', 'discovery'],
    ]);
  });

  it('[DISC-40] are told to people with every server, failure and figure', async () => {
    const text = discoveryLines(await deferredTurn(), (_style, words) => words).join('\n');
    expect(text).toContain('    left out odd: no \\u001b[31mschema');
    expect(text).toContain(
      'definitions 900 tokens in each of 3 model calls; 2 discovery calls (87 tokens), 1 model call for these alone',
    );
    expect(text).toContain('files preloaded: 4 tools, 1 called, 3 preloaded and not used');
    expect(text).toContain('web deferred: 119 tools, 9,000 tokens, 1 called, changed once');
    expect(text).toMatch(/first useful call t1\/2\/0 after \d+ ms, 3 model calls and 3,300 tokens sent/);
    expect(text).toContain('failed t1/1/6 sandbox.query_json at the stage reading');
  });
});

describe('a turn from before deferral', () => {
  const folder = fileURLToPath(new URL('../histories/', import.meta.url));
  const viewOfHistory = async (name: string): Promise<DiscoveryView> => {
    const recorder = new TurnRecorder(recorderClient, 'w');
    const { events } = historyFromJSON(JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')));
    for (const event of events ?? []) await recorder.add(event);
    return discoveryOf(recorder.record);
  };

  it('[DISC-40] shows what it has: one figure of definitions, and everything preloaded', async () => {
    const view = await viewOfHistory('main');
    expect(view.definitionTokens.length).toBeGreaterThan(1);
    expect(new Set(view.definitionTokens).size).toBe(1);
    expect(view.definitionTokens[0]).toBeGreaterThan(100);
    expect(view.servers.map(({ mode }) => mode)).toEqual(view.servers.map(() => 'preloaded'));
    expect(view.firstUsefulCall?.afterMs).toBeGreaterThan(0);
    expect([view.calls, view.roundTrips]).toEqual([0, 0]);
  });

  it('[DISC-40] tells wrong tools and wrong arguments apart', async () => {
    const { failures } = await viewOfHistory('denied-and-faults');
    expect(new Set(failures.map(({ stage }) => stage))).toEqual(new Set(['tool', 'arguments']));
    expect(failures.some(({ tool }) => (DISCOVERY_TOOLS as readonly string[]).includes(tool))).toBe(false);
  });
});
