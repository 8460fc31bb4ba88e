// The catalogs of a turn and the calls that wait for them: what is loaded, when, how often, and in which order calls are told.
import * as fc from 'fast-check';
import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { LoadCatalogInput, ProposedCall } from '../../shared/activities.ts';
import type { CatalogMode, ServerCatalogFacts } from '../../shared/catalog.ts';
import { TurnCatalogs } from '../../workflows/catalogs.ts';
import { judgeInOrder } from '../../workflows/deferred-calls.ts';
import { answerWithoutRunning } from '../../workflows/policy-check.ts';
import { specOf } from '../support/turn-world.ts';

const MODES: Readonly<Record<string, CatalogMode>> = { shop: 'deferred', mail: 'selective', files: 'preloaded' };
const { mcp_servers: servers } = specOf({ mcp_servers: Object.keys(MODES).map((name) => ({ name })) });
const entries = Object.entries(MODES).map(([name, mode]) => ({ name, mode, toolCount: 1, timeoutMs: 1, problems: [] }));

function factsOf(server: string, version: number, more: Partial<ServerCatalogFacts> = {}): ServerCatalogFacts {
  const hash = `${server} ${version}`;
  return { server, hash, ref: { sha256: hash, bytes: 1 }, toolCount: 1, definitionTokens: 1, problems: [], ...more };
}

type Load = Omit<LoadCatalogInput, 'turn'>;

/** A turn's catalogs, and what was asked; each answer is given by `answer`, else the next version. */
function turnOf(
  answer: (input: Load, count: number) => Promise<ServerCatalogFacts> = (input, count) =>
    Promise.resolve(factsOf(input.server.name, count)),
  catalogs: readonly ServerCatalogFacts[] = [],
) {
  const asked: Load[] = [];
  const load = (input: Load): Promise<ServerCatalogFacts> => answer(input, asked.push(input));
  return { asked, catalogs: new TurnCatalogs({ servers, facts: { servers: entries, catalogs }, load }) };
}
const namesOf = (asked: readonly Load[]) => asked.map(({ server, reason, known }) => [server.name, reason, known]);

function callOf(callKey: string, more: Partial<ProposedCall> = {}): ProposedCall {
  const base = { callKey, callId: callKey, name: 'call_tool', server: 'shop', tool: 'get', arguments: {} };
  return { ...base, argumentsDigest: 'd', schemaHash: '', tags: [], effect: 'write', unresolved: true, ...more };
}

describe('the catalogs of a turn', () => {
  it('[DISC-20] are each loaded once, however many need them at once and later', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('shop', 'mail', 'files'), { maxLength: 12 }), async (needs) => {
        const { asked, catalogs } = turnOf();
        const half = Math.floor(needs.length / 2);
        await Promise.all(needs.slice(0, half).map(async (server) => catalogs.need(server, 'call')));
        await Promise.all(needs.slice(half).map(async (server) => catalogs.need(server, 'discovery')));
        expect(asked).toHaveLength(new Set(needs).size);
        // In the order of the spec, whatever was loaded first.
        const order = servers.map(({ name }) => name).filter((name) => needs.some((need) => need === name));
        expect(catalogs.refs().map(({ server }) => server)).toEqual(order);
      }),
    );
  });

  it('[DISC-20] that the turn began with are not loaded again', async () => {
    const { asked, catalogs } = turnOf(undefined, [factsOf('mail', 7)]);
    expect(await catalogs.need('mail', 'call')).toMatchObject({ hash: 'mail 7' });
    expect(catalogs.refOf('mail')).toEqual({ sha256: 'mail 7', bytes: 1 });
    expect(catalogs.refOf('shop')).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('[DISC-23] of a server that was not there are asked for again, and are no catalog to check arguments by', async () => {
    const { asked, catalogs } = turnOf(({ server }, count) =>
      Promise.resolve(factsOf(server.name, count, count === 1 ? { unavailable: 'down' } : {})),
    );
    expect(await catalogs.need('shop', 'call')).toMatchObject({ unavailable: 'down' });
    await catalogs.need('mail', 'call');
    expect(catalogs.isWhole).toBe(false);
    expect(catalogs.refOf('shop')).toBeUndefined();
    expect(await catalogs.need('shop', 'call')).toMatchObject({ hash: 'shop 3' });
    expect(await catalogs.need('shop', 'call')).toMatchObject({ hash: 'shop 3' });
    expect(catalogs.isWhole).toBe(true);
    expect(namesOf(asked)).toEqual([
      ['shop', 'call', undefined],
      ['mail', 'call', undefined],
      ['shop', 'call', undefined],
    ]);
  });

  it('[DISC-23] whose loading fails are loaded by whoever needs them next', async () => {
    const { asked, catalogs } = turnOf(({ server }, count) =>
      count === 1 ? Promise.reject(new Error('the store is away')) : Promise.resolve(factsOf(server.name, count)),
    );
    const both = [catalogs.need('shop', 'call'), catalogs.need('shop', 'discovery')];
    for (const need of both) await expect(need).rejects.toThrow('the store is away');
    expect(await catalogs.need('shop', 'call')).toMatchObject({ hash: 'shop 2' });
    expect(asked).toHaveLength(2);
  });

  it('[DISC-25] that changed are loaded anew, once, before the model is asked; what cannot be stays, until it can', async () => {
    let isAway = true;
    const { asked, catalogs } = turnOf(({ server }, count) =>
      isAway && count === 2 ? Promise.reject(new Error('away')) : Promise.resolve(factsOf(server.name, count)),
    );
    await catalogs.need('shop', 'call');
    catalogs.changed('shop');
    catalogs.changed('shop');
    await catalogs.renew();
    expect(catalogs.refOf('shop')?.sha256).toBe('shop 1');
    isAway = false;
    await catalogs.renew();
    await catalogs.renew();
    expect(catalogs.refOf('shop')?.sha256).toBe('shop 3');
    const anew = ['shop', 'changed', 'shop 1'];
    expect(namesOf(asked)).toEqual([['shop', 'call', undefined], anew, anew]);
  });

  it('[DISC-25] are not waited for when the turn is cancelled', async () => {
    const { catalogs } = turnOf(() => Promise.reject(new CancelledFailure('cancelled')));
    catalogs.changed('shop');
    await expect(catalogs.renew()).rejects.toThrow('cancelled');
  });

  it.each<readonly [string, Partial<ProposedCall>, readonly string[]]>([
    ['names a deferred server', { arguments: { mcp_server: 'shop' } }, ['shop']],
    ['names a selective server', { arguments: { mcp_server: 'mail' } }, ['mail']],
    ['names a server that is shown whole', { arguments: { mcp_server: 'files' } }, []],
    ['names no server that there is', { arguments: { mcp_server: 'shpo' } }, []],
    ['names none', { arguments: { query: 'x' } }, ['shop', 'mail']],
    ['names none, in so many words', { arguments: { mcp_server: '' } }, ['shop', 'mail']],
    ['has its arguments in the store', { argumentsRef: { sha256: 'a', bytes: 9 } }, ['shop', 'mail']],
  ])('[DISC-20] a discovery call that %s looks at just what it needs', async (_what, more, expected) => {
    const { asked, catalogs } = turnOf();
    const refs = await catalogs.forDiscovery(callOf('t1/0/0', more));
    expect(refs.map(({ server }) => server)).toEqual(expected);
    expect(asked.map(({ server }) => server.name)).toEqual(expected);
  });
});

describe('calls whose server is not loaded', () => {
  const turn = { workflowId: 'w', session: 'w', turn: 1 };

  it('[DISC-21] are told in call order within a server, in whatever order they are judged, and each is judged', async () => {
    const orders = fc.array(fc.constantFrom('shop', 'mail'), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(orders, fc.scheduler(), async (wanted, scheduler) => {
        const { asked, catalogs } = turnOf();
        const calls = wanted.map((server, index) => callOf(`t1/0/${index}`, { server }));
        const judge = ({ call }: { readonly call: ProposedCall }) => scheduler.schedule(Promise.resolve(call));
        const told: ProposedCall[] = [];
        const judgements = judgeInOrder(calls, { turn, catalogs, judge });
        const all = [...judgements.values()].map(async (judgement) => {
          const judged = await judgement;
          if ('call' in judged) told.push(judged.call);
        });
        await scheduler.waitFor(Promise.all(all));
        for (const server of new Set(wanted)) {
          const ofServer = (call: ProposedCall): boolean => call.server === server;
          expect(told.filter(ofServer)).toEqual(calls.filter(ofServer));
        }
        expect(asked).toHaveLength(new Set(wanted).size);
      }),
    );
  });

  it('[DISC-21] are not made when their server could not be looked up, and say so; others are', async () => {
    const { catalogs } = turnOf(({ server }) =>
      server.name === 'shop'
        ? Promise.reject(new Error('the store is away'))
        : Promise.resolve(factsOf(server.name, 1)),
    );
    const calls = [callOf('t1/0/0'), callOf('t1/0/1', { server: 'mail' }), callOf('t1/0/2')];
    const judge = ({ call }: { readonly call: ProposedCall }) => Promise.resolve(call);
    const judgements = judgeInOrder(calls, { turn, catalogs, judge });
    const text = expect.stringMatching(/was not made.*`shop`.*the store is away/);
    expect(await judgements.get('t1/0/0')).toMatchObject({ spoken: { outcome: 'error', text } });
    expect(await judgements.get('t1/0/1')).toEqual({ call: calls[1] });
    const cancelled = turnOf(() => Promise.reject(new CancelledFailure('x')));
    const [ended] = judgeInOrder(calls, { turn, catalogs: cancelled.catalogs, judge }).values();
    expect(await ended).toMatchObject({ spoken: { outcome: 'cancelled' } });
  });
});

describe('a wrong call', () => {
  const fault = { type: 'bad-arguments' as const, text: 'It takes: {"type":"integer"}', tokens: 9 };
  const wrong = callOf('t1/0/0', { fault });
  const tell = (calls: readonly ProposedCall[], faults?: Set<string>) =>
    calls.map((call) => answerWithoutRunning(call, { reads: new Map(), ...(faults && { faults }) })?.text);

  it('[DISC-21] is told in full once, and in a short sentence each time after', () => {
    const [first, second, third] = tell(
      [wrong, { ...wrong, callKey: 't1/0/1' }, { ...wrong, name: 'shop__get' }],
      new Set(),
    );
    expect(first).toBe(fault.text);
    expect(second).toMatch(/^Refused: /);
    expect(third).toBe(second);
    expect(second?.length).toBeLessThan(160);
  });

  it('[DISC-21] that is another one is told in full: other tool, arguments, text of the model, or fault', () => {
    const others = [
      { ...wrong, tool: 'put' },
      { ...wrong, server: 'mail' },
      { ...wrong, argumentsDigest: 'e' },
      { ...wrong, argumentsText: '{"a' },
      { ...wrong, fault: { ...fault, text: 'It takes: {"type":"string"}' } },
    ];
    for (const text of tell([wrong, ...others], new Set())) expect(text).not.toMatch(/^Refused/);
  });

  it('[DISC-23] for the reason that its server is not there is asked for again, and told again', () => {
    const away = { ...wrong, fault: { ...fault, type: 'unknown-tool' as const, stage: 'server' as const } };
    expect(tell([away, away], new Set())).toEqual([fault.text, fault.text]);
    const unknown = { ...away, server: '' };
    expect(tell([unknown, unknown], new Set())[1]).toMatch(/^Refused: /);
  });

  it('[DISC-21] is told in full each time in turns from before', () => {
    expect(tell([wrong, wrong])).toEqual([fault.text, fault.text]);
  });
});
