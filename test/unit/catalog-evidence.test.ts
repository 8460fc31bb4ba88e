// A recorded turn as evidence for the advice on catalogs: what it would have been without the discovery that it made.
import { describe, expect, it } from 'vitest';
import { turnEvidence } from '../../client/catalog-evidence.ts';
import type { CatalogFacts, CatalogMode } from '../../shared/catalog.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { proposedCall, someRef, TurnEvents } from '../support/turn-events.ts';

const spec = requireSpec(
  { name: 'seeker', model: { name: 'openai/x' }, mcp_servers: [{ name: 'chat' }, { name: 'fs', preload: true }] },
  'test',
);

function begun(mode: CatalogMode): TurnEvents {
  const events = new TurnEvents();
  const known = { timeoutMs: 1, problems: [], toolCount: 3 };
  const servers = [
    { name: 'chat', mode, ...known },
    { name: 'fs', mode: 'preloaded' as const, ...known },
  ];
  const catalog: CatalogFacts = { ref: someRef, toolCount: 9, definitionTokens: 600, servers };
  events.started({ version: 1, spec, deferral: 1 });
  events.activity('longshoreListTools', {}, catalog);
  return events;
}

describe('a turn as evidence', () => {
  it('[DISC-42] is without model calls for discovery alone, and without their answers in later requests', async () => {
    const events = begun('deferred');
    const search = proposedCall('0/0', 'discovery', 'search_tools');
    events.model(0, [search], { tokens: 1_600, definitions: 600 });
    events.call(search, 'ok', { tokens: 250 });
    const post = proposedCall('1/0', 'chat', 'post', { via: 'call_tool' });
    const info = proposedCall('1/1', 'discovery', 'get_tool_info');
    events.model(1, [post, info], { tokens: 1_900, definitions: 600 });
    events.call(post, 'ok');
    events.call(info, 'ok', { tokens: 40 });
    events.model(2, [], { tokens: 2_000, definitions: 600 });
    expect(turnEvidence(await events.record())).toMatchObject({
      agent: 'seeker',
      servers: ['chat', 'fs'],
      requests: [
        { contextTokens: 1_900 - 600 - 250, calls: [{ server: 'chat', tool: 'post' }] },
        { contextTokens: 2_000 - 600 - 290, calls: [] },
      ],
      finds: 1,
      trips: 1,
    });
  });

  it('[DISC-42] has no calls that were wrong, and none of the tools of Longshore itself', async () => {
    const events = begun('preloaded');
    const fault = { type: 'bad-arguments', text: 'no', tokens: 1 } as const;
    const calls = [
      proposedCall('0/0', 'chat', 'post', { fault }),
      proposedCall('0/1', 'sandbox', 'read_file'),
      proposedCall('0/2', '', 'nothing', { fault: { ...fault, type: 'unknown-tool' } }),
      proposedCall('0/3', 'fs', 'read'),
    ];
    events.model(0, calls, { tokens: 900 });
    const evidence = turnEvidence(await events.record());
    // The turn's own figure counts where a model call has none.
    expect(evidence?.requests).toEqual([{ contextTokens: 300, calls: [{ server: 'fs', tool: 'read' }] }]);
    expect(evidence).toMatchObject({ finds: 0, trips: 0 });
  });

  it('[DISC-42] counts a tool as found once, and one that is shown never', async () => {
    const events = begun('deferred');
    const call = (index: string, server: string) => proposedCall(index, server, 'use', { via: 'call_tool' });
    for (const step of [0, 1, 2])
      events.model(step, [call(`${step}/0`, 'chat'), call(`${step}/1`, 'fs')], { tokens: 900 });
    expect(turnEvidence(await events.record())).toMatchObject({ finds: 1, trips: 0 });
  });

  it('[DISC-42] is none where no model was called', async () => {
    expect(turnEvidence(await begun('deferred').record())).toBeNull();
  });
});
