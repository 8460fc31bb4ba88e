// What becomes of the calls that a model asks for, where tools are deferred: found, taken apart, or answered with what was wrong.
import { describe, expect, test } from 'vitest';
import { discoveryOffer, sandboxOffer } from '../../activities/catalogs/built-in.ts';
import { catalogOf } from '../../activities/catalogs/exposed.ts';
import type { CallCatalogs } from '../../activities/judge/catalogs.ts';
import { judgeAsked } from '../../activities/judge/judge.ts';
import type { JudgedCall } from '../../activities/judge/judged.ts';
import type { Catalog, CatalogServer, CatalogTool } from '../../shared/catalog.ts';
import type { JsonObject } from '../../shared/json.ts';
import { catalogTool, objectSchema } from '../support/catalogs.ts';

const text = { type: 'string' };
const send = catalogTool('send', {
  server: 'mail',
  inputSchema: objectSchema({ to: text }, ['to']),
  tags: ['@write'],
  effect: 'write',
  schemaHash: 'mail-send',
});
const purge = catalogTool('purge', { server: 'mail', schemaHash: 'mail-purge' });
const odd = catalogTool('odd name!', { server: 'mail' });
const look = catalogTool('look', { server: 'files', schemaHash: 'files-look' });
const shown = catalogTool('shown', { server: 'part', schemaHash: 'part-shown' });

function server(name: string, more: Partial<CatalogServer> = {}): CatalogServer {
  return { name, toolCount: 0, timeoutMs: 1, problems: [], ...more };
}

const selected = ({ exposedName: _name, ...tool }: CatalogTool) => tool;
const frame = catalogOf([
  sandboxOffer(),
  discoveryOffer(),
  { server: server('mail', { mode: 'deferred', unasked: true }), tools: [] },
  { server: server('files', { mode: 'preloaded' }), tools: [selected(look)] },
  { server: server('part', { mode: 'selective' }), tools: [selected(shown)] },
  { server: server('away', { mode: 'preloaded', unavailable: 'it is off' }), tools: [] },
]);
const mail: Catalog = { version: 1, servers: [server('mail')], tools: [odd, purge, send] };

function judge(name: string, input: unknown, loaded: readonly Catalog[] = []): JudgedCall {
  const catalogs: CallCatalogs = { frame, loaded };
  return judgeAsked({ name, inputText: typeof input === 'string' ? input : JSON.stringify(input) }, catalogs);
}

const wrapped = (mcp_server: unknown, tool_name: unknown, input?: unknown, loaded?: readonly Catalog[]) =>
  judge('call_tool', { mcp_server, tool_name, ...(input !== undefined && { input }) }, loaded);

describe('a call through call_tool', () => {
  test('[LOAD-7] is that of the tool behind it, and keeps what the model wrote', () => {
    const { judged, wrapper } = wrapped('mail', 'send', { to: 'a' }, [mail]);
    expect(judged).toEqual({
      server: 'mail',
      tool: 'send',
      arguments: { to: 'a' },
      schemaHash: 'mail-send',
      tags: ['@write'],
      effect: 'write',
      via: 'call_tool',
    });
    expect(wrapper).toEqual({ mcp_server: 'mail', tool_name: 'send', input: { to: 'a' } });
  });

  test('[LOAD-7] takes its input as JSON text too, and none as no arguments', () => {
    expect(wrapped('mail', 'send', '{"to": "a"}', [mail]).judged.arguments).toEqual({ to: 'a' });
    expect(wrapped('mail', 'purge', undefined, [mail]).judged).toMatchObject({
      arguments: {},
      schemaHash: 'mail-purge',
    });
  });

  test('[LOAD-7] reaches tools of the array and of the built-in servers', () => {
    expect(wrapped('files', 'look').judged).toMatchObject({
      server: 'files',
      tool: 'look',
      effect: 'read',
      via: 'call_tool',
    });
    expect(wrapped('part', 'shown').judged).toMatchObject({ server: 'part', schemaHash: 'part-shown' });
    expect(wrapped('files', 'files__look').judged).toMatchObject({ tool: 'look' });
    expect(wrapped('sandbox', 'list_files').judged).toMatchObject({ server: 'sandbox', tool: 'list_files' });
    expect(wrapped('discovery', 'search_tools', { query: 'x' }).judged).toMatchObject({ server: 'discovery' });
  });

  test.each([
    ['without a server', { tool_name: 'send' }, 'mcp_server'],
    ['without a tool', { mcp_server: 'mail' }, 'tool_name'],
    ['with an empty tool', { mcp_server: 'mail', tool_name: '' }, 'tool_name'],
    ['with a server that is no text', { mcp_server: 3, tool_name: 'send' }, 'mcp_server'],
    ['with a key it does not have', { mcp_server: 'mail', tool_name: 'send', arguments: {} }, 'arguments'],
    ['with a list as input', { mcp_server: 'mail', tool_name: 'send', input: [] }, 'input'],
    ['with text that is no JSON as input', { mcp_server: 'mail', tool_name: 'send', input: '{"to": ' }, 'input'],
    ['with text of a list as input', { mcp_server: 'mail', tool_name: 'send', input: '[1]' }, 'an array'],
    ['of itself', { mcp_server: 'discovery', tool_name: 'call_tool', input: {} }, 'itself'],
  ])('[LOAD-8] %s is a fault of the wrapper, with its schema', (_, given, named) => {
    const { judged } = judge('call_tool', given, [mail]);
    expect(judged).toMatchObject({ server: 'discovery', tool: 'call_tool', fault: { type: 'bad-arguments' } });
    expect(judged).not.toHaveProperty('via');
    expect(judged.fault?.text).toContain('`call_tool` called nothing');
    expect(judged.fault?.text).toContain(named);
    expect(judged.fault?.text).toContain('"mcp_server"');
  });

  test('[LOAD-8] that is no JSON is told so, and the text is kept', () => {
    const { judged, raw } = judge('call_tool', '{"mcp_server": ');
    expect(raw).toBe('{"mcp_server": ');
    expect(judged.fault?.text).toContain('not a JSON object');
  });

  test('[LOAD-8] of a server that is not there names those there are, the nearest first', () => {
    const { judged } = wrapped('mial', 'send', {}, [mail]);
    expect(judged).toMatchObject({ server: '', fault: { type: 'unknown-tool', stage: 'server' }, via: 'call_tool' });
    expect(judged.fault?.text).toMatch(/Servers, nearest first: mail, /);
    expect(judged.fault?.text).toContain('sandbox');
    expect(judged.fault?.text).not.toContain('longshore');
  });

  test('[LOAD-8] of a tool that a server does not have names the nearest', () => {
    const { judged } = wrapped('mail', 'sned', {}, [mail]);
    expect(judged).toMatchObject({ server: 'mail', tool: 'sned', fault: { type: 'unknown-tool' } });
    expect(judged.fault).not.toHaveProperty('stage');
    expect(judged.fault?.text).toContain('Nearest: send');
  });

  test('[LOAD-8] with arguments that do not fit is answered with the schema', () => {
    const { judged } = wrapped('mail', 'send', { to: 3 }, [mail]);
    expect(judged).toMatchObject({
      server: 'mail',
      tool: 'send',
      fault: { type: 'bad-arguments' },
      arguments: { to: 3 },
    });
    expect(judged.fault?.text).toContain('/to must be string');
    expect(judged.fault?.text).toContain(JSON.stringify(send.inputSchema));
  });

  test('[LOAD-8] shows of a large schema what fits, and how the rest is seen', () => {
    const properties: JsonObject = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [
        `field_${index}`,
        { type: 'string', description: 'word '.repeat(30) },
      ]),
    );
    const large = catalogTool('large', { server: 'mail', inputSchema: objectSchema(properties, ['field_0']) });
    const { judged } = wrapped('mail', 'large', {}, [{ ...mail, tools: [large] }]);
    expect(judged.fault?.text.length).toBeLessThan(4_800);
    expect(judged.fault?.text).toContain('What is cut: get_tool_info');
    expect(judged.fault?.text).toContain('field_0');
  });

  test('[LOAD-9] of a server that is not loaded is left to be resolved, with nothing known of it', () => {
    for (const loaded of [
      [],
      [{ version: 1 as const, servers: [server('mail', { unavailable: 'off' })], tools: [] }],
    ]) {
      expect(wrapped('mail', 'send', { to: 3 }, loaded).judged).toEqual({
        server: 'mail',
        tool: 'send',
        arguments: { to: 3 },
        schemaHash: '',
        tags: [],
        effect: 'write',
        unresolved: true,
        via: 'call_tool',
      });
    }
    expect(wrapped('part', 'hidden').judged).toMatchObject({ server: 'part', unresolved: true });
  });

  test('[LOAD-9] of a preloaded server that is away says so', () => {
    const { judged } = wrapped('away', 'x');
    expect(judged).toMatchObject({ server: 'away', fault: { stage: 'server' } });
    expect(judged.fault?.text).toContain('it is off');
  });
});

describe('a call by name', () => {
  test.each(['mail__send', 'mail.send'])('[LOAD-9] as %s goes to a deferred tool, loaded or not', (name) => {
    expect(judge(name, { to: 'a' }, [mail]).judged).toMatchObject({
      server: 'mail',
      tool: 'send',
      schemaHash: 'mail-send',
    });
    const { judged } = judge(name, { to: 'a' });
    expect(judged).toMatchObject({ server: 'mail', tool: 'send', unresolved: true });
    expect(judged).not.toHaveProperty('via');
  });

  test('[LOAD-9] by a name that hides another is found once it is loaded', () => {
    expect(odd.exposedName).not.toContain('!');
    expect(judge(odd.exposedName, {}, [mail]).judged).toMatchObject({ server: 'mail', tool: 'odd name!' });
    expect(judge('mail.odd name!', {}).judged).toMatchObject({ server: 'mail', tool: 'odd name!', unresolved: true });
  });

  test('[LOAD-9] with arguments that are no JSON is a fault before anything is loaded', () => {
    const { judged, raw } = judge('mail__send', '{');
    expect(judged).toMatchObject({ server: 'mail', fault: { type: 'bad-arguments' } });
    expect(judged).not.toHaveProperty('unresolved');
    expect(raw).toBe('{');
  });

  test('[LOAD-8] that nobody has names the tools there are, and the way to others', () => {
    for (const name of ['post', 'files__post', 'sandbox__post']) {
      const { judged } = judge(name, {}, [mail]);
      expect(judged).toMatchObject({ server: '', fault: { type: 'unknown-tool' } });
      expect(judged.fault?.text).toContain('search_tools finds others');
    }
    expect(judge('mail__post', {}, [mail]).judged.fault?.text).toContain('Server "mail" has no tool "post"');
  });

  test('[LOAD-10] goes by a newer catalog of its server, not by the tool array', () => {
    const newer = catalogTool('look', {
      server: 'files',
      schemaHash: 'newer',
      inputSchema: objectSchema({ at: text }, ['at']),
    });
    const files: Catalog = { version: 1, servers: [server('files')], tools: [newer] };
    expect(judge('files__look', { at: 'a' }, [files]).judged).toMatchObject({ schemaHash: 'newer' });
    expect(judge('files__look', {}, [files]).judged.fault?.text).toContain('must have required property');
    const gone = judge('files__look', {}, [{ ...files, tools: [] }]).judged;
    expect(gone.fault).toMatchObject({ type: 'unknown-tool' });
    // One that could not be asked again leaves what was known.
    const away: Catalog = { version: 1, servers: [server('files', { unavailable: 'off' })], tools: [] };
    expect(judge('files__look', {}, [away]).judged).toMatchObject({ schemaHash: 'files-look' });
  });
});

describe('a discovery call', () => {
  test('[LOAD-8] of a server that is not there, or whose tools are all shown, is told so at once', () => {
    expect(judge('list_tools', { mcp_server: 'mial' }).judged.fault).toMatchObject({ stage: 'server' });
    expect(judge('list_tools', { mcp_server: 'files' }).judged.fault?.text).toContain('files__look');
    expect(judge('search_tools', { query: 'x', mcp_server: 'away' }).judged.fault?.text).toContain('it is off');
    expect(judge('search_tools', { query: 3 }).judged.fault?.text).toContain('/query must be string');
  });

  test('[LOAD-7] of others goes on as a read', () => {
    for (const given of [{ query: 'x' }, { query: 'x', mcp_server: '' }, { query: 'x', mcp_server: 'mail' }]) {
      const { judged } = judge('search_tools', given);
      expect(judged).toMatchObject({ server: 'discovery', tool: 'search_tools', effect: 'read', tags: ['@read-only'] });
      expect(judged).not.toHaveProperty('fault');
    }
  });
});
