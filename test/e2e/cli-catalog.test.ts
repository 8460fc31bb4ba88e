// `longshore catalog`: what it shows, compares, checks and advises of servers that turns have asked, and of servers asked now.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { AgentAdvice } from '../../cli/catalog/agent-advice.ts';
import type { TurnView } from '../../client/turn-view.ts';
import { encryptingCodec } from '../support/encrypting-codec.ts';
import { expectDone, expectError, interrupt, openWorld, plan, type CliRun, type CliWorld } from '../support/cli.ts';

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

interface Shown {
  readonly server: string;
  readonly versions: readonly {
    readonly hash: string;
    readonly toolCount: number;
    readonly definitionTokens: number;
  }[];
}

let world: CliWorld;
let dev: CliRun;
let turns: readonly TurnView[];

const AGENT = `name: seeker
model: {name: openai/scripted}
mcp_servers:
  - {name: every, require_approval_for_tools: []}
  - {name: fs, preload: true, enable_tools: ["@read-only"]}
`;

beforeAll(async () => {
  world = await openWorld();
  await world.write('seeker.yaml', AGENT);
  dev = await world.serve(['dev']);
  const find = { name: 'search_tools', arguments: { query: 'echo' } };
  const echo = (message: string) => ({
    name: 'call_tool',
    arguments: { mcp_server: 'every', tool_name: 'echo', input: { message } },
  });
  const message = plan({ toolCalls: [find] }, { toolCalls: [echo('one'), echo('two')] }, { text: 'Done.' });
  const ran: TurnView[] = [];
  // The first turn asks the server that it need not know yet, and records it; the second one knows it by its record.
  for (const _ of [1, 2]) ran.push(await world.json<TurnView>('run', 'seeker.yaml', '--message', message));
  turns = ran;
});

afterAll(async () => {
  await interrupt(dev);
  await world.expectNothingRunning();
  await world.close();
});

describe('a turn with a deferred server', () => {
  it('[DISC-40] shows what it searched, called and did not use', async () => {
    const [, turn] = turns;
    const { discovery } = turn ?? {};
    expect(discovery?.servers).toEqual([
      expect.objectContaining({ server: 'every', mode: 'deferred', preloaded: 0, called: 1, loads: 1, changes: 0 }),
      expect.objectContaining({ server: 'fs', mode: 'preloaded', called: 0 }),
    ]);
    expect(discovery?.servers[1]?.preloadedUnused).toBe(discovery?.servers[1]?.tools);
    expect(new Set(discovery?.definitionTokens).size).toBe(1);
    expect(discovery).toMatchObject({ calls: 1, roundTrips: 1, failures: [] });
    expect(discovery?.toolsCalled).toEqual([{ server: 'every', tool: 'echo', calls: 2 }]);
    expect(discovery?.firstUsefulCall).toMatchObject({ callKey: 't1/1/0', modelCalls: 2 });
  });
});

describe('catalog show', () => {
  it('[DISC-43] has every server that was asked, and the tools of one with their tokens', async () => {
    const shown = await world.json<readonly Shown[]>('catalog', 'show');
    expect(shown.map(({ server, versions }) => [server, versions.length])).toEqual([
      ['every', 1],
      ['fs', 1],
    ]);
    const every = await world.json<{ readonly tools: readonly { readonly tool: string; readonly tokens: number }[] }>(
      'catalog',
      'show',
      'every',
    );
    expect(every.tools).toHaveLength(shown[0]?.versions[0]?.toolCount ?? 0);
    const total = every.tools.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(total / (shown[0]?.versions[0]?.definitionTokens ?? 0)).toBeCloseTo(1, 1);
    expect(JSON.stringify(every)).not.toContain('inputSchema');
    const echo = await world.longshore(['catalog', 'show', 'every', '--tool', 'echo', '--schemas']);
    expectDone(echo);
    expect(echo.stdout).toContain('"message"');
  });

  it('[DISC-43] refuses servers, tools and versions that are not recorded, with those that are', async () => {
    expectError(await world.longshore(['catalog', 'show', 'evry']), 'CatalogNotFound', 1, /`every`, `fs`/);
    const tool = await world.longshore(['catalog', 'show', 'every', '--tool', 'ecko']);
    expectError(tool, 'CatalogNotFound', 1, /ecko/);
    expect(tool.stderr).toContain('Did you mean `echo`?');
    expectError(await world.longshore(['catalog', 'show', '--schemas']), 'UsageInvalid', 2, /--schemas/);
  });
});

describe('catalog diff', () => {
  it('[DISC-43] says that two turns saw the same, and what a new version changed', async () => {
    const [first, second] = turns.map(({ workflowId }) => workflowId);
    const same = await world.json('catalog', 'diff', 'every', first ?? '', second ?? '');
    expect(same).toMatchObject({ added: [], removed: [], changed: [], from: { type: 'turn', id: first } });
    expectError(await world.longshore(['catalog', 'diff', 'every']), 'CatalogNotFound', 1, /only one/);
    const file = join(world.folder, 'mcp.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as { mcpServers: Record<string, object> };
    config.mcpServers['every'] = {
      ...config.mcpServers['every'],
      annotations: { echo: { readOnlyHint: true, destructiveHint: true } },
    };
    await world.write('changed.json', JSON.stringify(config));
    expectDone(await world.longshore(['catalog', 'show', 'every', '--refresh', '--mcp', 'changed.json']));
    const { stdout } = await world.longshore(['catalog', 'diff', 'every']);
    expect(stdout).toMatch(/^~ echo: .*annotations\S* /m);
    expect(stdout).toContain('0 added, 0 removed, 1 changed');
  });
});

describe('catalog lint', () => {
  it('[DISC-43] exits with 1 where it finds something, and tells what and where', async () => {
    const { code, stdout } = await world.longshore(['catalog', 'lint', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      servers: [{ server: 'every' }, { server: 'fs' }],
      findings: [{ rule: 'contradictory-annotations', tools: [{ server: 'every', tool: 'echo' }] }],
    });
  });
});

describe('catalog advise', () => {
  it('[DISC-43] recommends by the recorded turns, says from how many, and draws it', async () => {
    const { agents, turns: count } = await world.json<{
      readonly agents: readonly AgentAdvice[];
      readonly turns: number;
    }>('catalog', 'advise', '--plot', 'advice.html');
    expect(count).toBe(2);
    const [seeker] = agents;
    const every = seeker?.servers.find(({ server }) => server === 'every');
    expect(every?.evidence).toMatchObject({
      turns: 2,
      turnsWithCalls: 2,
      calls: 4,
      tools: [{ tool: 'echo', turns: 2 }],
    });
    expect(every?.recommended).toMatchObject({ mode: 'selective', preloadTools: ['echo'], roundTrips: 0 });
    expect(every?.now).toMatchObject({ mode: 'deferred', roundTrips: 2 });
    const fs = seeker?.servers.find(({ server }) => server === 'fs');
    expect(fs?.recommended).toMatchObject({ mode: 'deferred', reason: 'unused' });
    expect(await readFile(join(world.folder, 'advice.html'), 'utf8')).toContain('preload_tools: [&quot;echo&quot;]');
    const people = await world.longshore(['catalog', 'advise', '--server', 'every', '--plot', 'advice.svg']);
    expectDone(people);
    expect(people.stdout).toContain('preload_tools: ["echo"]');
    expect(people.stdout).toContain('little evidence: 2 turns');
    expect(await readFile(join(world.folder, 'advice.svg'), 'utf8')).toMatch(/^<svg /);
  });

  it('[DISC-43] leaves out a turn that it cannot read, and says so', async () => {
    const { address } = JSON.parse(await readFile(join(world.home, 'server.json'), 'utf8')) as { address: string };
    const connection = await Connection.connect({ address });
    const client = new Client({ connection, dataConverter: { payloadCodecs: [encryptingCodec] } });
    const options = { taskQueue: 'nobody', workflowId: 'turn-secret', args: [{}] };
    const handle = await client.workflow.start('longshoreAgentTurn', options);
    try {
      const advice = await vi.waitFor(
        async () => {
          const end = await world.longshore(['catalog', 'advise', '--json']);
          expect(end.stderr).toMatch(/Turn turn-secret cannot be read, and is left out: .*test-encrypted/);
          return end;
        },
        { timeout: 60_000 },
      );
      expect(advice.code).toBe(0);
      expect(JSON.parse(advice.stdout)).toMatchObject({ turns: 2 });
    } finally {
      await handle.terminate();
      await connection.close();
    }
  });

  it('[DISC-43] refuses a server that no turn names, and a plot of another kind', async () => {
    const server = await world.longshore(['catalog', 'advise', '--server', 'x']);
    expectError(server, 'CatalogNotFound', 1, /`x`/);
    const plot = await world.longshore(['catalog', 'advise', '--plot', 'a.png']);
    expectError(plot, 'UsageInvalid', 2, /a\.png/);
    const none = await world.longshore(['catalog', 'advise', '--turns', '0']);
    expectError(none, 'UsageInvalid', 2, /--turns <n>.*whole number from 1/);
    expect([server.stdout, plot.stdout, none.stdout]).toEqual(['', '', '']);
  });
});
