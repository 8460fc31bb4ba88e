// What a spec lets an agent do.
import { describe, expect, test } from 'vitest';
import type { SpecServer } from '../../shared/agent-spec.ts';
import {
  deniedText,
  effectOf,
  isEnabled,
  needsApproval,
  selects,
  tagsOf,
  unknownSelectorNames,
} from '../../shared/policy.ts';

function server(rest: Partial<SpecServer> = {}): SpecServer {
  return {
    name: 'fs',
    enable_tools: ['@all'],
    disable_tools: [],
    preload: false,
    preload_tools: [],
    require_approval_for_tools: ['@write', '@destructive'],
    tool_settings: {},
    ...rest,
  };
}

describe('tagsOf', () => {
  test.each([
    [undefined, ['@write']],
    [{}, ['@write']],
    [{ readOnlyHint: true }, ['@read-only']],
    [{ readOnlyHint: false }, ['@write']],
    [{ destructiveHint: true }, ['@destructive']],
    [{ destructiveHint: false }, ['@write']],
    [{ readOnlyHint: true, destructiveHint: true }, ['@read-only', '@destructive']],
    [{ idempotentHint: true }, ['@write']],
  ])('%j has the tags %j', (annotations, tags) => {
    expect(tagsOf(annotations)).toEqual(tags);
  });
});

describe('effectOf', () => {
  test.each([
    [undefined, false, 'write'],
    [undefined, true, 'idempotent'],
    [{ readOnlyHint: true }, false, 'read'],
    [{ readOnlyHint: true }, true, 'read'],
    [{ idempotentHint: true }, undefined, 'idempotent'],
    [{ destructiveHint: true }, false, 'write'],
    [{ destructiveHint: true, idempotentHint: true }, false, 'idempotent'],
    [{ readOnlyHint: true, destructiveHint: true }, false, 'write'],
  ])('%j with keys honoured %j is %s', (annotations, honoursKeys, effect) => {
    expect(effectOf(annotations, honoursKeys)).toBe(effect);
  });
});

describe('selects and isEnabled', () => {
  test('a selector takes a tool by @all, by one of its tags, or by its whole name', () => {
    expect(selects(['@all'], 'a', ['@write'])).toBe(true);
    expect(selects(['@read-only'], 'a', ['@read-only'])).toBe(true);
    expect(selects(['@read-only'], 'a', ['@write'])).toBe(false);
    expect(selects(['a'], 'a', ['@write'])).toBe(true);
    expect(selects(['a'], 'ab', ['@write'])).toBe(false);
    expect(selects([], 'a', ['@read-only'])).toBe(false);
  });

  test('what disables wins over what enables', () => {
    const both = server({ enable_tools: ['a', '@read-only'], disable_tools: ['a'] });
    expect(isEnabled(both, 'a', ['@write'])).toBe(false);
    expect(isEnabled(both, 'b', ['@read-only'])).toBe(true);
    expect(isEnabled(both, 'b', ['@write'])).toBe(false);
    expect(isEnabled(server({ disable_tools: ['@all'] }), 'b', ['@read-only'])).toBe(false);
    expect(isEnabled(server({ enable_tools: [] }), 'b', ['@read-only'])).toBe(false);
  });
});

describe('needsApproval', () => {
  test('by default all that is not annotated read-only is gated, and the selector is named', () => {
    expect(needsApproval(server(), 'fs', 'a', tagsOf())).toEqual({ gated: true, selector: '@write' });
    expect(needsApproval(server(), 'fs', 'a', ['@destructive'])).toEqual({ gated: true, selector: '@destructive' });
    expect(needsApproval(server(), 'fs', 'a', ['@read-only'])).toEqual({ gated: false });
  });

  test('a tool that calls itself read-only and destructive is gated', () => {
    expect(needsApproval(server(), 'fs', 'a', tagsOf({ readOnlyHint: true, destructiveHint: true })).gated).toBe(true);
  });

  test('an empty list lets all run, a list of names gates these alone', () => {
    expect(needsApproval(server({ require_approval_for_tools: [] }), 'fs', 'a', ['@destructive']).gated).toBe(false);
    const named = server({ require_approval_for_tools: ['a'] });
    expect(needsApproval(named, 'fs', 'a', ['@read-only'])).toEqual({ gated: true, selector: 'a' });
    expect(needsApproval(named, 'fs', 'b', ['@destructive']).gated).toBe(false);
  });

  test('the built-in sandbox is never gated, and a server that the spec does not name always', () => {
    expect(needsApproval(undefined, 'sandbox', 'write_file', ['@write']).gated).toBe(false);
    const all = server({ name: 'sandbox', require_approval_for_tools: ['@all'] });
    expect(needsApproval(all, 'sandbox', 'write_file', ['@write']).gated).toBe(false);
    expect(needsApproval(undefined, 'fs', 'a', ['@read-only'])).toEqual({ gated: true, selector: '@all' });
  });
});

describe('deniedText', () => {
  test('says that nothing ran, which selector gates it, and how to allow it', () => {
    const text = deniedText({ server: 'fs', tool: 'write_file', selector: '@write', tags: ['@write'] });
    expect(text).toContain('`write_file` on server `fs` was not made');
    expect(text).toContain('by @write under require_approval_for_tools');
    expect(text).toContain('approvals are not answered in this version');
    expect(text).toContain('set require_approval_for_tools to []');
    expect(deniedText({ server: 'fs', tool: 'a', selector: 'a', tags: ['@write'] })).toContain('by its name');
  });
});

describe('unknownSelectorNames', () => {
  test('names every tool that the server does not offer, in all lists and settings, with its path', () => {
    const spec = server({
      enable_tools: ['@all', 'gone'],
      disable_tools: ['there', 'gone2'],
      preload_tools: ['gone3'],
      require_approval_for_tools: ['@write', 'gone4'],
      tool_settings: { there: {}, gone5: {} },
    });
    expect(unknownSelectorNames(spec, ['there', 'other'])).toEqual([
      { name: 'gone', path: 'enable_tools.1' },
      { name: 'gone2', path: 'disable_tools.1' },
      { name: 'gone3', path: 'preload_tools.0' },
      { name: 'gone4', path: 'require_approval_for_tools.1' },
      { name: 'gone5', path: 'tool_settings.gone5' },
    ]);
    expect(unknownSelectorNames(server(), [])).toEqual([]);
  });
});
