// The scripted model of the main job: it reads what it is given, and complains about what it cannot read.
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conversationOf, resultOf, type ModelRequest } from '../../examples/main-job/conversation.ts';
import { startExampleModel } from '../../examples/main-job/model.ts';
import * as reading from '../../examples/main-job/reading.ts';
import { mainJobScript } from '../../examples/main-job/script.ts';
import { checkMcpConfig } from '../../shared/mcp-config-schema.ts';
import { checkSpec, checkSpecServers, parseSpecText } from '../../shared/spec-check.ts';

const example = (name: string): string =>
  readFileSync(new URL(`../../examples/main-job/${name}`, import.meta.url), 'utf8');

const tools = ['fs__read_text_file', 'sandbox__infer_schema'].map((name) => ({ function: { name } }));

function requestWith(messages: ModelRequest['messages']): ModelRequest {
  return { model: 'scripted', messages, tools };
}

function stepOf(calls: readonly (readonly [name: string, args: object, result: unknown])[]): ModelRequest['messages'] {
  const toolCalls = calls.map(([name, args], index) => {
    return { id: `call-${name}-${index}`, function: { name, arguments: JSON.stringify(args) } };
  });
  const results = calls.map(([name, , content], index) => ({
    role: 'tool',
    tool_call_id: `call-${name}-${index}`,
    content,
  }));
  return [{ role: 'assistant', tool_calls: toolCalls }, ...results];
}

describe('the example agent', () => {
  const parsed = parseSpecText(example('agent.yaml'), 'agent.yaml');
  const { spec, faults } = checkSpec('value' in parsed ? parsed.value : null);

  it('has a valid spec, and its servers are configured beside it', () => {
    expect(faults).toEqual([]);
    const check = checkMcpConfig(JSON.parse(example('mcp.json')), 'mcp.json');
    if (!spec || !('config' in check)) throw new Error(JSON.stringify(check));
    expect(checkSpecServers(spec, check.config)).toEqual([]);
  });

  it('is asked for the four files in its own question, and asks for them all at once', () => {
    const content = spec?.messages[0]?.content;
    const answer = mainJobScript(requestWith([{ role: 'user', content }]), 0);
    expect(answer).toMatchObject({
      toolCalls: [
        { name: 'fs__read_text_file', arguments: { path: 'caniuse-db/data.json' } },
        { name: 'fs__read_text_file', arguments: { path: 'emojibase-data/en/data.json' } },
        { name: 'fs__read_text_file', arguments: { path: 'vega-datasets/data/airports.csv' } },
        { name: 'fs__read_text_file', arguments: { path: 'vega-datasets/data/co2-concentration.csv' } },
      ],
    });
  });
});

describe('what the model takes from a request', () => {
  it('is the question of this turn alone, and the calls of this turn with their results', () => {
    const conversation = conversationOf(
      requestWith([
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'earlier' },
        { role: 'assistant', content: 'done' },
        { role: 'user', content: 'first' },
        { role: 'user', content: [{ type: 'text', text: 'second' }] },
        ...stepOf([
          ['a', { path: '/x' }, 'one'],
          ['a', { path: '/y' }, [{ type: 'text', text: 'two' }]],
        ]),
      ]),
    );
    expect(conversation.question).toBe('first\nsecond');
    expect(conversation.steps).toHaveLength(1);
    expect(resultOf(conversation, 'a', '/y')).toBe('two');
    expect(() => resultOf(conversation, 'a', '/z')).toThrow('No call of a with /z');
  });

  it('is refused when a call has no result, or a result is no text', () => {
    const [asked] = stepOf([['a', {}, '']]);
    if (!asked) throw new Error('no step');
    expect(() => conversationOf(requestWith([{ role: 'user', content: 'go' }, asked]))).toThrow('No result came back');
    const image = stepOf([['a', {}, [{ type: 'image_url' }]]]);
    expect(() => conversationOf(requestWith([{ role: 'user', content: 'go' }, ...image]))).toThrow('is not text');
  });
});

describe('what the model reads in results', () => {
  const schema = [
    'JSON, 900 bytes in all:',
    'object {',
    '  "odd, name": object {[12 keys like "a", "b"]: number 1 to 2}',
    '  agents: object {',
    '    inner: object {[9,999 keys like "a"]: string}',
    '  }',
    '  data: object {[1,554 keys like "with \\"quotes\\"", "b"]: object {…}}',
    '  rare?: string, e.g. "x" (in 2 of 9)',
    '}',
  ].join('\n');

  it('is the path of a pointer, without the punctuation behind it', () => {
    const path = '/sandbox/tool-results/t1.0.0-read-0123456789abcdef.json';
    fc.assert(
      fc.property(
        fc.constantFrom('.', ', ', '\n', ' (', '"', '`.', ''),
        fc.constantFrom('', 'See ', '"', '`'),
        (after, before) => {
          expect(reading.pathIn(`${before}${path}${after}`)).toBe(path);
        },
      ),
    );
    expect(() => reading.pathIn('ENOENT: no such file')).toThrow('Expected a path under /sandbox/tool-results/');
  });

  it('is the largest top-level object with keys that are data', () => {
    expect(reading.largestMapIn(schema)).toEqual({ key: 'data', length: 1554, example: 'with "quotes"' });
    expect(() => reading.largestMapIn('array of 3: string')).toThrow('an object with many keys');
  });

  it('is a name that the schema has, never one that it does not have', () => {
    expect(reading.nameIn(schema, 'rare')).toBe('rare');
    expect(reading.nameIn(schema, 'odd, name')).toBe('odd, name');
    expect(() => reading.nameIn(schema, 'inner')).toThrow('there are: odd, name, agents, data, rare');
  });

  it('is a number out of lengths, rows, counts and lines', () => {
    const csv =
      'CSV with delimiter ",": 2 columns, 3,376 rows below the header\n  "a": integer 0 to 1\n  "b c": string';
    expect(reading.rowsIn(csv)).toBe(3376);
    expect(reading.columnIn(csv, 'b c')).toBe(1);
    expect(reading.lengthIn('JSON, 1 byte in all:\narray of 1,949: object {')).toBe(1949);
    const search = '1,263 matches of text ",AK," in 1,263 lines:\nline 39, byte 2116: 0AK,…«,AK,»USA';
    expect(reading.matchesIn(search)).toBe(1263);
    expect(reading.firstLineIn(search)).toBe(39);
    expect(() => reading.matchesIn('No match of text "x" in 9 bytes.')).toThrow('a number of matches');
  });

  it('is the lines of a range and their mean, if all of them are there', () => {
    const lines = reading.linesIn('[lines 2 to 3 of 9; go on with start_line 4]\nx,1.5\ny,2.5\n', 2);
    expect(reading.meanOf(lines, 1)).toBe(2);
    expect(() => reading.linesIn('[lines 2 to 2 of 9; …]\nx,1.5\n', 2)).toThrow('Expected 2 lines');
    expect(() => reading.meanOf(['x,'], 1)).toThrow('a number in column 2');
  });

  it('is the key with the largest number, whatever the numbers', () => {
    const counts = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.nat(), { minKeys: 1, noNullPrototype: true });
    fc.assert(
      fc.property(counts, (given) => {
        expect(given[reading.keyOfLargest(given)]).toBe(Math.max(...Object.values(given)));
      }),
    );
    expect(() => reading.keyOfLargest({ a: 'many' })).toThrow('a number `a`');
    expect(() => reading.keyOfLargest({})).toThrow('a count');
  });

  it('is the folder for reports and no other, and what was written by the tool that wrote it', () => {
    const list = 'Allowed directories:\n/data/node_modules\n/scratch/reports';
    expect(reading.reportsFolderIn(list)).toBe('/scratch/reports');
    expect(reading.reportsFolderIn(list.replace('/reports', '/reports-of-others'))).toBeNull();
    expect(reading.writtenIn('Successfully wrote to /scratch/reports/report.md')).toBe('/scratch/reports/report.md');
    expect(reading.writtenIn('The user denied this call.')).toBeNull();
  });

  it('is JSON of a query, never a note in its place', () => {
    expect(reading.numberAt(reading.jsonIn('{"n":1}'), 'n')).toBe(1);
    expect(() => reading.jsonIn('No result: nothing in the file fits the query.')).toThrow('a JSON object');
    expect(() => reading.numberAt({ n: '1' }, 'n')).toThrow('a number `n`');
    expect(() => reading.textAt({ n: 1 }, 'n')).toThrow('a text `n`');
  });
});

describe('the scripted model over HTTP', () => {
  it('answers a result that it cannot read with an error, and tells it once', async () => {
    const faults: string[] = [];
    const model = await startExampleModel((error) => faults.push(error.message));
    const broken = requestWith([
      { role: 'user', content: 'go' },
      ...stepOf([['fs__read_text_file', { path: 'a/caniuse.json' }, 'gone']]),
    ]);
    const ask = async (): Promise<number> => {
      const response = await fetch(`${model.baseUrl}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(broken),
      });
      await response.text();
      return response.status;
    };
    try {
      expect([await ask(), await ask()]).toEqual([500, 500]);
    } finally {
      await model.close();
    }
    expect(faults).toEqual([expect.stringContaining('the result reads: gone')]);
  });

  it('does not ask for a tool that is not on offer', () => {
    const request = { ...requestWith([{ role: 'user', content: 'read a/b.json' }]), tools: [] };
    expect(() => mainJobScript(request, 0)).toThrow('The tool fs__read_text_file is not on offer');
  });
});
