// What bounds a server that misbehaves: waits between starts, lines a minute, levels of nesting, bytes in memory, and what is
// told of all that. No server needed.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createBackoff } from '../../activities/mcp/backoff.ts';
import { ByteStore } from '../../activities/mcp/byte-store.ts';
import { isDeeperThan } from '../../activities/mcp/depth.ts';
import { declinedBlock } from '../../activities/mcp/elicitation.ts';
import { LineLog } from '../../activities/mcp/line-log.ts';
import { describeTools, listAllTools, MOST_TOOLS } from '../../activities/mcp/listing.ts';
import { createSchemaChecker } from '../../activities/mcp/schema-check.ts';
import { createToolChanges } from '../../activities/mcp/tool-changes.ts';
import { systemText } from '../../activities/system-text.ts';
import type { TurnFrame } from '../../shared/activities.ts';
import type { CatalogServer } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { JsonValue } from '../../shared/json.ts';

const failure = new LongshoreError(
  'McpServerUnavailable',
  'MCP server `a` could not be started: it fell over.',
  'Mend.',
);

function nested(levels: number): JsonValue {
  let value: JsonValue = 'deep';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

describe('the wait between starts', () => {
  it('doubles with every failure up to the longest, never beyond, and begins anew once the server has worked', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 90_000 }), (failures, longestMs) => {
        const backoff = createBackoff({ firstMs: 1_000, longestMs }, () => 0);
        const waits = Array.from({ length: failures }, () => backoff.failed(failure).retryAfterMs);
        expect(waits).toEqual(waits.map((_, index) => Math.min(longestMs, 1_000 * 2 ** index)));
        backoff.worked();
        expect(() => backoff.check()).not.toThrow();
        expect(backoff.failed(failure).retryAfterMs).toBe(Math.min(longestMs, 1_000));
      }),
    );
  });

  it('is told to whoever calls meanwhile, with what is left of it, and is then over', () => {
    let now = 0;
    const backoff = createBackoff({ firstMs: 1_000, longestMs: 60_000 }, () => now);
    backoff.failed(failure);
    now = 1_000;
    backoff.failed(failure);
    now = 1_500;
    const told = 'it fell over; it has failed 2 times in a row and is started again in 1.5 s at the earliest';
    expect(() => backoff.check()).toThrow(told);
    expect(() => backoff.check()).toThrow(
      expect.objectContaining({ type: 'McpServerUnavailable', mend: 'Mend.', retryAfterMs: 1_500 }),
    );
    now = 3_000;
    expect(() => backoff.check()).not.toThrow();
  });

  it('counts from the end of the server, not from when that was noticed', () => {
    const backoff = createBackoff({ firstMs: 1_000, longestMs: 60_000 }, () => 3_600_000);
    backoff.failed(failure, 5);
    expect(() => backoff.check()).not.toThrow();
  });
});

describe('a log of lines', () => {
  it('takes 200 lines a minute, says that it leaves lines out, and later how many', () => {
    let now = 0;
    const lines: string[] = [];
    const log = new LineLog({
      redact: (text) => text,
      longestSecret: () => 0,
      write: (line) => lines.push(line),
      now: () => now,
    });
    for (let count = 0; count < 1_000; count += 1) log.line('x');
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toContain('further ones are left out');
    now = 60_000;
    log.line('later');
    expect(lines.slice(201)).toEqual(['(800 lines were left out)', 'later']);
    expect(log.lastLines).toBe('x | x | x | x | later');
  });
});

describe('nesting', () => {
  it('is counted at any depth without recursion', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 400 }), (levels, limit) => {
        expect(isDeeperThan({ a: 1, b: nested(levels) }, limit)).toBe(levels + 1 > limit);
      }),
    );
    expect(isDeeperThan(nested(200_000), 500)).toBe(true);
    expect(isDeeperThan(nested(200_000), 300_000)).toBe(false);
  });

  it('that is too deep leaves out one tool, and the others stay', async () => {
    const raw = [
      { name: 'deep', inputSchema: { type: 'object', properties: nested(100_000) } },
      { name: 'good', inputSchema: { type: 'object' } },
    ] as readonly JsonValue[];
    const { tools, problems } = await describeTools(raw, createSchemaChecker(AbortSignal.timeout(5_000)), {});
    expect(tools.map((tool) => tool.name)).toEqual(['good']);
    expect(problems).toEqual([{ tool: 'deep', problem: expect.stringContaining('nested deeper') }]);
  });
});

describe('a list without an end', () => {
  it('is read up to a number of tools', async () => {
    let pages = 0;
    const page = Array.from({ length: 1_000 }, () => 1);
    const tools = await listAllTools(() => {
      pages += 1;
      return Promise.resolve({ tools: page, nextCursor: String(pages) });
    });
    expect(tools).toHaveLength(MOST_TOOLS);
  });
});

describe('bytes in pieces', () => {
  it('are the same text again, however they were cut, and the store is then empty', () => {
    const text = 'zwölf 🦀 boxes, '.repeat(120_000);
    const bytes = Buffer.from(text);
    const store = new ByteStore(bytes.length);
    for (const size of [7_001, 65_536, 1_500_000, bytes.length]) {
      for (let at = 0; at < bytes.length; at += size) store.add(bytes.subarray(at, at + size));
      expect(store.takeText()).toBe(text);
      expect(store.sizeBytes).toBe(0);
      expect(store.takeText()).toBe('');
    }
  });
});

describe('a change of a list', () => {
  it('overtakes the turns that listed before it, and no others', () => {
    const changes = createToolChanges();
    changes.listing('old', 'a');
    changes.listing('old', 'b');
    expect(changes.isOvertaken('old', 'a')).toBe(false);
    changes.told('a');
    changes.listing('new', 'a');
    expect(changes.isOvertaken('old', 'a')).toBe(true);
    expect(changes.isOvertaken('old', 'b')).toBe(false);
    expect(changes.isOvertaken('new', 'a')).toBe(false);
    expect(changes.isOvertaken('listed elsewhere', 'a')).toBe(false);
    changes.told('a');
    expect(changes.isOvertaken('listed elsewhere', 'a')).toBe(true);
    expect(changes.count('a')).toBe(2);
  });
});

describe('questions that were declined', () => {
  it('are told in one line each, cut, and counted beyond five', () => {
    const { text } = declinedBlock(Array.from({ length: 9 }, () => `Who\nare ${'you'.repeat(200)}?`)) as {
      text: string;
    };
    const lines = text.split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[0]).toMatch(/^\[the server asked: "Who are you.*…"; declined: nobody could answer\]$/);
    expect(lines[0]?.length).toBeLessThan(400);
    expect(lines[5]).toContain('4 further');
  });
});

describe('what servers say of themselves', () => {
  const frame = { instructions: 'Do.' } as TurnFrame;
  const server = (more: Partial<CatalogServer>): CatalogServer => ({
    name: 'a',
    toolCount: 1,
    timeoutMs: 1,
    problems: [],
    ...more,
  });
  const told = (more: Partial<CatalogServer>): string | undefined =>
    systemText(frame, { version: 1, servers: [server(more)], tools: [] })
      .split('\n')
      .find((line) => line.startsWith('- a'));

  it('reaches the model, the configured description first and the instructions beside it (cat-5)', () => {
    expect(told({ description: 'Ours.', instructions: 'Be\nkind.' })).toBe('- a: Ours. In its own words: Be kind.');
    expect(told({ instructions: 'Be kind.' })).toBe('- a: Be kind.');
    expect(told({ description: 'Ours.' })).toBe('- a: Ours.');
    expect(told({})).toBeUndefined();
    expect(told({ instructions: 'x'.repeat(5_000) })?.length).toBeLessThan(1_100);
  });
});
