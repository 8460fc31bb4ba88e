// The check of agent specs: what is accepted, what is refused and where, what is said of it.
import { describe, expect, test } from 'vitest';
import { checkSpec, checkSpecPrices, checkSpecServers, MAX_SPEC_BYTES, requireSpec } from '../../shared/spec-check.ts';
import { specJsonSchema } from '../../shared/spec-schema.ts';
import { FULL_SPEC } from '../fixtures/full-spec.ts';
import cases from '../fixtures/specs.json' with { type: 'json' };

const MODEL = { name: 'scripted/main' };

function faultsOf(rest: object): readonly string[] {
  return checkSpec({ model: MODEL, ...rest }).faults.map(({ path }) => path);
}

function mendsOf(value: unknown): string {
  return checkSpec(value)
    .faults.map(({ mend }) => mend)
    .join('\n');
}

describe('the known cases', () => {
  test.each(cases)('$id: $expect', ({ spec, expect: expected, path }) => {
    const check = checkSpec(spec);
    expect(check.spec === null).toBe(expected === 'refuse');
    expect(check.faults.length === 0).toBe(expected === 'accept');
    const paths = check.faults.map((fault) => fault.path);
    expect(path === undefined || paths.includes(path), `${path} in ${paths.join()}`).toBe(true);
  });
});

describe('checkSpec', () => {
  test('a spec with every key is accepted', () => {
    expect(checkSpec(FULL_SPEC).faults).toEqual([]);
  });

  test('the smallest spec gets every default', () => {
    expect(checkSpec({ model: MODEL, mcp_servers: [{ name: 'fs' }] }).spec).toEqual({
      model: { name: 'scripted/main', params: {} },
      name: 'agent',
      instructions: '',
      messages: [],
      mcp_servers: [
        {
          name: 'fs',
          enable_tools: ['@all'],
          disable_tools: [],
          preload: false,
          preload_tools: [],
          require_approval_for_tools: ['@write', '@destructive'],
          tool_settings: {},
        },
      ],
      response_format: { type: 'text' },
      config: {
        iteration_limit: 100,
        context_management: {
          large_tool_response: {
            enabled: true,
            per_result_tokens: 6000,
            per_step_tokens: 10_000,
            preview_characters: 100,
            image_tokens: 1000,
          },
        },
        budgets: {},
        approvals: { onDeadline: 'expire' },
        retention: { afterTurnMs: 30 * 86_400_000, classes: {} },
        ask_user_questions: { enabled: true },
        other: {},
      },
    });
  });

  test('all faults come at once, each with its path', () => {
    const spec = {
      model: { name: 'x', params: { temperature: 'hot' } },
      instrctions: '',
      mcp_servers: [{ name: 'fs' }, { name: 'fs', enable_tools: ['@foo'] }],
      config: { iteration_limit: 0, approvals: { deadline: '1h', remind_after: '2h' } },
    };
    expect(checkSpec(spec).faults.map(({ path }) => path)).toEqual([
      'model.name',
      'model.params.temperature',
      'mcp_servers.1.enable_tools.0',
      'config.iteration_limit',
      'instrctions',
      'mcp_servers.1.name',
      'config.approvals.remind_after',
    ]);
  });

  test.each([undefined, null, [], [FULL_SPEC], 'openai/x', 5, true, {}, () => FULL_SPEC])(
    'what is no spec at all is refused: %j',
    (value) => {
      const { faults, spec } = checkSpec(value);
      expect(spec).toBeNull();
      expect(faults).toHaveLength(1);
      expect(faults[0]?.mend).not.toBe('');
    },
  );

  test.each([
    ['modle', {}, 'Did you mean `model`?'],
    ['mcpServers', {}, 'Did you mean `mcp_servers`?'],
    ['response-format', {}, 'Did you mean `response_format`?'],
    ['iteration_limit', {}, 'Move it to `config`.'],
    ['iterationLimit', {}, 'Move it to `config`.'],
    ['temperature', {}, 'Move it to `model.params`.'],
    ['require_approval_for_tools', {}, 'Move it to `mcp_servers[]`.'],
    ['zzz', {}, 'Known here, nearest first: '],
  ])('the unknown key %s is a fault with a mend', (key, value, mend) => {
    expect(faultsOf({ [key]: value })).toEqual([key]);
    expect(mendsOf({ model: MODEL, [key]: value })).toContain(mend);
  });

  test('of very many unknown keys the first fifty are shown, and the number of the others', () => {
    const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]));
    const { faults } = checkSpec({ model: MODEL, ...keys });
    expect(faults).toHaveLength(51);
    expect(faults.at(-1)?.message).toBe('19950 more keys are not known here');
  });

  test('a key named __proto__ is a fault and not a prototype', () => {
    const value: unknown = JSON.parse('{"model": {"name": "a/b"}, "__proto__": {"instructions": "x"}}');
    expect(checkSpec(value).faults.map(({ path }) => path)).toEqual(['__proto__']);
  });

  test('a tag that is not known lists those that are', () => {
    const servers = [{ name: 'fs', require_approval_for_tools: ['@writes'] }];
    expect(mendsOf({ model: MODEL, mcp_servers: servers })).toBe(
      'Did you mean @write? Selectors here: @all, @write, @destructive; or the name of a tool.',
    );
  });

  test.each(['openai', '/gpt', 'openai/', ' openai/gpt', 'openai/gpt ', 'open ai/gpt', '', '  '])(
    'the model name %j is refused',
    (name) => {
      expect(checkSpec({ model: { name } }).faults.map(({ path }) => path)).toEqual(['model.name']);
    },
  );

  test('the part of a model name after the provider may hold slashes and colons', () => {
    expect(checkSpec({ model: { name: 'openai/org/model:7b-q4' } }).faults).toEqual([]);
  });

  test('the name of the built-in server is refused with its reason', () => {
    expect(faultsOf({ mcp_servers: [{ name: 'sandbox' }] })).toEqual(['mcp_servers.0.name']);
    expect(faultsOf({ mcp_servers: [{ name: 'longshore' }] })).toEqual(['mcp_servers.0.name']);
    expect(mendsOf({ model: MODEL, mcp_servers: [{ name: 'sandbox' }] })).toContain('built in');
  });

  test('skills without the sandbox are refused', () => {
    expect(faultsOf({ skills: [{ name: 'x' }] })).toEqual(['skills']);
    expect(faultsOf({ skills: [{ name: 'x' }], config: { sandbox: { enabled: true } } })).toEqual([]);
  });

  test('a spec too large for a Workflow input is refused with its size and the limit', () => {
    const { faults } = checkSpec({ model: MODEL, instructions: 'ö'.repeat(MAX_SPEC_BYTES / 2) });
    expect(faults[0]?.message).toMatch(/^The spec has 786\d{3} bytes as JSON; the limit is 786432$/);
  });

  test('a value that JSON cannot hold is refused among the passed-on params', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const seed of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, new Date(0), cyclic]) {
      expect(checkSpec({ model: { name: 'a/b', params: { seed } } }).faults.map(({ path }) => path)).toEqual([
        'model.params.seed',
      ]);
    }
  });

  test('unknown params are passed on as they are', () => {
    const params = { seed: 7, logit_bias: { '50256': -100 }, stop: ['\n'], user: null };
    expect(checkSpec({ model: { name: 'a/b', params } }).spec?.model.params).toEqual(params);
  });

  test('preload_tools that are not empty make preload false, and the spec says so', () => {
    const { spec, notes } = checkSpec({
      model: MODEL,
      mcp_servers: [{ name: 'fs', preload: true, preload_tools: ['a'] }],
    });
    expect(spec?.mcp_servers[0]).toMatchObject({ preload: false, preload_tools: ['a'] });
    expect(notes.map(({ path }) => path)).toContain('mcp_servers.0.preload');
  });

  test('requireSpec raises SpecInvalid with every fault', () => {
    expect(() => requireSpec({ model: { name: 'x' }, foo: 1 }, 'agent.yaml')).toThrow(
      expect.objectContaining({ type: 'SpecInvalid', message: 'agent.yaml has 2 faults' }),
    );
    expect(() => requireSpec({}, 'agent.yaml')).toThrow(/^agent\.yaml: model: is missing/);
  });

  test('the JSON Schema has every top-level key', () => {
    expect(Object.keys((specJsonSchema() as { properties: object }).properties)).toEqual(
      expect.arrayContaining(Object.keys(FULL_SPEC)),
    );
  });
});

describe('notes', () => {
  const { notes, spec } = checkSpec(FULL_SPEC);

  test.each([
    'skills',
    'config.sandbox',
    'config.sandbox.file_downloads',
    'config.sandbox.network_policy',
    'config.dynamic_sub_agents',
    'config.generative_ui',
    'config.context_management.compaction',
    'config.context_management.compaction.compaction_threshold_tokens',
  ])('what is not built yet at %s is said', (path) => {
    expect(notes.map((note) => note.path)).toContain(path);
  });

  test('what is not acted on is carried as it was written, except what holds passwords', () => {
    expect(spec?.config.other).toEqual({
      sandbox: { enabled: true, file_downloads: false },
      dynamic_sub_agents: { enabled: true },
      generative_ui: { enabled: true },
      compaction: FULL_SPEC.config.context_management.compaction,
      skills: FULL_SPEC.skills,
    });
  });

  test('deadlines and retention are carried in milliseconds, a class by its name', () => {
    expect(spec?.config).toMatchObject({
      approvals: { deadlineMs: 72 * 3_600_000, remindAfterMs: 24 * 3_600_000, onDeadline: 'deny' },
      retention: {
        afterTurnMs: 30 * 86_400_000,
        maxAgeMs: 90 * 86_400_000,
        classes: { personal: { class: 'personal', afterTurnMs: 86_400_000, maxAgeMs: 30 * 86_400_000 } },
      },
    });
  });

  test('[KEEP-5] a retention class that the spec does not have is a fault with the nearest one', () => {
    const of = (name: string, classes: object) =>
      checkSpec({
        model: MODEL,
        mcp_servers: [{ name: 'fs', tool_settings: { read: { retention: { class: name } } } }],
        config: { retention: { classes } },
      });
    expect(of('scratch', { scratch: { after_turn: '1d' } }).faults).toEqual([]);
    expect(of('scrach', { scratch: { after_turn: '1d' }, personal: {} }).faults).toEqual([
      {
        path: 'mcp_servers.0.tool_settings.read.retention.class',
        message: 'there is no retention class `scrach`',
        mend:
          'Add it under `config.retention.classes`, or take another. ' +
          'Did you mean `scratch`? Known here, nearest first: scratch, personal.',
      },
    ]);
    expect(of('scratch', {}).faults[0]?.mend).toBe('Add it under `config.retention.classes`.');
  });

  test('a spec that asks for nothing unbuilt has no note', () => {
    const servers = [{ name: 'fs', preload: true, require_approval_for_tools: [] }];
    expect(checkSpec({ model: MODEL, mcp_servers: servers, config: { iteration_limit: 3 } }).notes).toEqual([]);
  });

  test('what is switched off needs no note', () => {
    const config = {
      ask_user_questions: { enabled: false },
      dynamic_sub_agents: { enabled: false },
      context_management: { compaction: { enabled: false } },
    };
    expect(checkSpec({ model: MODEL, config }).notes).toEqual([]);
  });

  test('a limit of the step below that of one result is explained, defaults counted', () => {
    const path = 'config.context_management.large_tool_response.per_step_tokens';
    const config = { context_management: { large_tool_response: { per_step_tokens: 5000 } } };
    expect(checkSpec({ model: MODEL, config }).notes.map((note) => note.path)).toEqual([path]);
  });
});

describe('a spec and its surroundings', () => {
  const spec = requireSpec(FULL_SPEC, 'test');
  const fs = { type: 'stdio', command: 'x', args: [], env: {} } as const;

  test('a server that nobody configured is a fault that lists those that are', () => {
    expect(checkSpecServers(spec, { source: 'mcp.json', servers: { fs } })).toEqual([]);
    expect(checkSpecServers(spec, { source: 'mcp.json', servers: {} }, ['fs'])).toEqual([]);
    const [fault] = checkSpecServers(spec, { source: 'mcp.json', servers: { files: fs, web: fs } });
    expect(fault).toMatchObject({
      path: 'mcp_servers.0.name',
      message: 'no server `fs` is configured in mcp.json',
      mend: expect.stringMatching(/web.*files|files.*web/),
    });
    expect(checkSpecServers(spec, { source: 'mcp.json', servers: {} })[0]?.mend).toContain('No server is configured');
  });

  test('a server named like a member of every object is not taken as configured', () => {
    const odd = requireSpec({ model: MODEL, mcp_servers: [{ name: 'constructor' }] }, 'test');
    expect(checkSpecServers(odd, { source: 'mcp.json', servers: { fs } })).toHaveLength(1);
  });

  test('a budget in dollars needs the price of the model', () => {
    expect(checkSpecPrices(spec, {})[0]?.path).toBe('config.budgets.cost_usd');
    expect(checkSpecPrices(spec, { 'openai/org/gpt-5-mini': {} })).toEqual([]);
  });
});
