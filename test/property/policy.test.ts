// What holds of policy for every tool and every spec.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SpecServer } from '../../shared/agent-spec.ts';
import { effectOf, isEnabled, needsApproval, tagsOf } from '../../shared/policy.ts';

const annotations = fc.option(
  fc.record(
    { readOnlyHint: fc.boolean(), destructiveHint: fc.boolean(), idempotentHint: fc.boolean() },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const tool = fc.constantFrom('a', 'b', 'write_file');
const selectors = fc.array(fc.constantFrom('@all', '@read-only', '@write', '@destructive', 'a', 'b'), { maxLength: 4 });

function server(rest: Partial<SpecServer>): SpecServer {
  const base = { name: 'fs', enable_tools: ['@all'], disable_tools: [], preload: false, preload_tools: [] };
  return { ...base, require_approval_for_tools: ['@write', '@destructive'], tool_settings: {}, ...rest };
}

describe('policy', () => {
  test('a tool has one tag or the two that contradict each other, and @write stands alone', () => {
    fc.assert(
      fc.property(annotations, (given) => {
        const tags = tagsOf(given);
        expect(tags.length === 1 || tags.join() === '@read-only,@destructive').toBe(true);
        const says = given?.readOnlyHint === true || given?.destructiveHint === true;
        expect(tags.includes('@write')).toBe(!says);
      }),
    );
  });

  test('by default exactly that runs unasked which is read-only and nothing else, and only that counts as a read', () => {
    fc.assert(
      fc.property(annotations, tool, fc.boolean(), (given, name, honoursKeys) => {
        const onlyReads = given?.readOnlyHint === true && given.destructiveHint !== true;
        expect(needsApproval(server({}), 'fs', name, tagsOf(given)).gated).toBe(!onlyReads);
        expect(effectOf(given, honoursKeys) === 'read').toBe(onlyReads);
      }),
    );
  });

  test('one more selector never lets through what was gated, nor gives back what was disabled', () => {
    fc.assert(
      fc.property(annotations, tool, selectors, selectors, (given, name, some, more) => {
        const tags = tagsOf(given);
        const gate = (list: readonly string[]) =>
          needsApproval(server({ require_approval_for_tools: list }), 'fs', name, tags).gated;
        const has = (list: readonly string[]) => isEnabled(server({ disable_tools: list }), name, tags);
        expect(gate(some) && !gate([...more, ...some])).toBe(false);
        expect(!has(some) && has([...more, ...some])).toBe(false);
      }),
    );
  });

  test('the selector that is named is one of the list and takes the tool', () => {
    fc.assert(
      fc.property(annotations, tool, selectors, (given, name, list) => {
        const gate = needsApproval(server({ require_approval_for_tools: list }), 'fs', name, tagsOf(given));
        expect(gate.selector !== undefined).toBe(gate.gated);
        const able = list.filter((selector) => ['@all', name, ...tagsOf(given)].includes(selector));
        expect(gate.selector).toBe(able[0]);
      }),
    );
  });
});
