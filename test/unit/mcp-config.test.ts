// The check of MCP configurations, variables in them, and what of them is secret.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { McpConfig } from '../../shared/mcp-config.ts';
import { checkMcpConfig, expandVariables, redact, REDACTED, secretsOf } from '../../shared/mcp-config-schema.ts';

function check(server: unknown, name = 'fs') {
  return checkMcpConfig({ mcpServers: { [name]: server } }, 'mcp.json');
}

function pathsOf(value: unknown): readonly string[] {
  const outcome = checkMcpConfig(value, 'mcp.json');
  return 'faults' in outcome ? outcome.faults.map(({ path }) => path) : [];
}

describe('checkMcpConfig', () => {
  test('the form that clients share is accepted, with its defaults', () => {
    const value = {
      mcpServers: {
        fs: { command: 'npx', args: ['x'], env: { A: '${A}' }, cwd: '..' },
        web: { type: 'http', url: 'http://127.0.0.1:9100/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
        bare: { command: 'x' },
        plain: { url: 'https://example.com/mcp' },
      },
    };
    expect(checkMcpConfig(value, 'mcp.json')).toEqual({
      notes: [],
      config: {
        source: 'mcp.json',
        servers: {
          fs: { type: 'stdio', command: 'npx', args: ['x'], env: { A: '${A}' }, cwd: '..' },
          web: { type: 'http', url: 'http://127.0.0.1:9100/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
          bare: { type: 'stdio', command: 'x', args: [], env: {} },
          plain: { type: 'http', url: 'https://example.com/mcp', headers: {} },
        },
      },
    });
  });

  test('the keys of this project are kept', () => {
    const own = {
      description: 'Files.',
      timeoutMs: 5000,
      maxMessageBytes: 1_000_000,
      annotations: { read: { readOnlyHint: true } },
      honoursIdempotencyKeys: true,
    };
    expect(check({ command: 'x', ...own })).toMatchObject({ config: { servers: { fs: own } } });
  });

  test.each(['http', 'streamable-http', 'streamableHttp'])('the type %s is Streamable HTTP', (type) => {
    expect(check({ type, url: 'http://x/mcp' })).toMatchObject({ config: { servers: { fs: { type: 'http' } } } });
  });

  test('keys that other clients use are passed over with a note, and a disabled server is left out', () => {
    const kept = check({ command: 'x', autoApprove: ['a'], timeout: 60 });
    expect(kept).toMatchObject({ config: { servers: { fs: { command: 'x' } } } });
    expect('notes' in kept && kept.notes.map(({ path }) => path)).toEqual([
      'mcpServers.fs.autoApprove',
      'mcpServers.fs.timeout',
    ]);
    expect(check({ command: 'x', disabled: true })).toMatchObject({ config: { servers: {} } });
    expect(check({ command: 'x', disabled: false })).toMatchObject({ config: { servers: { fs: {} } } });
  });

  test.each([
    [null, ''],
    [[], ''],
    [{}, 'mcpServers'],
    [{ mcp_servers: {} }, 'mcp_servers'],
    [{ mcpServers: [] }, 'mcpServers'],
    [{ mcpServers: { fs: null } }, 'mcpServers.fs'],
    [{ mcpServers: { fs: {} } }, 'mcpServers.fs'],
    [{ mcpServers: { fs: { command: '' } } }, 'mcpServers.fs.command'],
    [{ mcpServers: { fs: { command: 'x', url: 'http://x' } } }, 'mcpServers.fs'],
    [{ mcpServers: { fs: { command: 'x', args: 'a b' } } }, 'mcpServers.fs.args'],
    [{ mcpServers: { fs: { command: 'x', args: [1] } } }, 'mcpServers.fs.args.0'],
    [{ mcpServers: { fs: { command: 'x', env: { A: 1 } } } }, 'mcpServers.fs.env.A'],
    [{ mcpServers: { fs: { command: 'x', type: 'http' } } }, 'mcpServers.fs.type'],
    [{ mcpServers: { fs: { command: 'x', timeoutMs: '5s' } } }, 'mcpServers.fs.timeoutMs'],
    [{ mcpServers: { fs: { command: 'x', timeoutMs: 0 } } }, 'mcpServers.fs.timeoutMs'],
    [{ mcpServers: { fs: { command: 'x', argz: [] } } }, 'mcpServers.fs.argz'],
    [{ mcpServers: { fs: { command: 'x', headers: {} } } }, 'mcpServers.fs.headers'],
    [{ mcpServers: { fs: { url: 'ftp://x' } } }, 'mcpServers.fs.url'],
    [{ mcpServers: { fs: { url: 'http://x y' } } }, 'mcpServers.fs.url'],
    [{ mcpServers: { fs: { type: 'sse', url: 'http://x' } } }, 'mcpServers.fs.type'],
    [
      { mcpServers: { fs: { command: 'x', annotations: { a: { readonly: true } } } } },
      'mcpServers.fs.annotations.a.readonly',
    ],
    [{ mcpServers: { sandbox: { command: 'x' } } }, 'mcpServers.sandbox'],
    [{ mcpServers: { ' ': { command: 'x' } } }, 'mcpServers." "'],
  ])('%j is refused', (value, path) => {
    expect(pathsOf(value)).toContain(path);
  });

  test('the faults of all servers come at once', () => {
    const value = { mcpServers: { a: { comand: 'x' }, b: { url: 5 }, c: { type: 'sse', url: 'http://x' } } };
    expect(pathsOf(value)).toEqual(['mcpServers.a', 'mcpServers.b.url', 'mcpServers.c.type']);
  });

  test('sse is refused with what to use in its place', () => {
    const outcome = check({ type: 'sse', url: 'http://x' });
    expect('faults' in outcome && outcome.faults[0]?.mend).toContain('Streamable HTTP');
  });

  test('any JSON value is checked without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const outcome of [checkMcpConfig(value, 'x'), check(value)]) {
          expect('faults' in outcome ? outcome.faults.length : 1).toBeGreaterThan(0);
        }
      }),
    );
  });
});

describe('expandVariables', () => {
  const env = { A: 'one', EMPTY: '', PATHY: '${A}' };

  test.each([
    ['x', { text: 'x' }],
    ['${A}/${A}', { text: 'one/one' }],
    ['${EMPTY}', { text: '' }],
    ['${EMPTY:-two}', { text: 'two' }],
    ['${NONE:-}', { text: '' }],
    ['${NONE:-a b}', { text: 'a b' }],
    ['${PATHY}', { text: '${A}' }],
    ['$A ${} ${1} $${A}', { text: '$A ${} ${1} $one' }],
    ['${NONE} ${A} ${OTHER} ${NONE}', { missing: ['NONE', 'OTHER'] }],
    ['${constructor}', { missing: ['constructor'] }],
  ])('%j', (text, expected) => {
    expect(expandVariables(text, env)).toEqual(expected);
  });
});

describe('secretsOf', () => {
  const config: McpConfig = {
    source: 'mcp.json',
    servers: {
      fs: {
        type: 'stdio',
        command: 'npx',
        args: ['--root', '${ROOT}', '--api-key=literal-key', '--token', 'literal-token', '--verbose'],
        env: { PASSWORD: 'literal"password', DEBUG: 'false', SHORT: 'abc', MODE: 'production' },
      },
      web: {
        type: 'http',
        url: 'https://user:url-pass%21@example.com/mcp?access_token=query-token&mode=readonly#x',
        headers: { Authorization: 'Bearer ${TOKEN}', 'Content-Type': 'application/json', 'X-Team': 'team-header' },
      },
    },
  };
  const secrets = secretsOf(config, { ROOT: '/srv/data', TOKEN: 'token-from-env', OTHER: 'unused-value' });

  test.each([
    '/srv/data',
    'token-from-env',
    'Bearer token-from-env',
    'literal-key',
    'literal-token',
    'literal"password',
    String.raw`literal\"password`,
    'team-header',
    'url-pass%21',
    'url-pass!',
    'query-token',
  ])('%j is one', (secret) => {
    expect(secrets).toContain(secret);
  });

  test.each(['false', 'abc', 'production', 'application/json', 'readonly', 'unused-value', '--verbose', ''])(
    '%j is none',
    (word) => {
      expect(secrets).not.toContain(word);
    },
  );

  test('a variable that is not set gives no secret, and its default is one', () => {
    const server = { type: 'stdio', command: 'x', args: ['${NONE}', '${SET:-default-secret}'], env: {} } as const;
    expect(secretsOf({ source: '', servers: { server } }, {})).toEqual(['default-secret']);
  });
});

describe('redact', () => {
  test('the longest secret goes whole, and secrets that overlap go together', () => {
    expect(redact('key=abcdef-123456;', ['abcdef', 'abcdef-123456'])).toBe(`key=${REDACTED};`);
    expect(redact('<abcdefgh>', ['abcdef', 'defgh>'])).toBe(`<${REDACTED}`);
    expect(redact('aaaaaaaa', ['aaaaaa'])).toBe(REDACTED);
    expect(redact('redacted', ['redacted'])).toBe(REDACTED);
    expect(redact('x', ['', 'yyyyyy'])).toBe('x');
  });

  test('no character of any occurrence of any secret stays, and everything else does, in order', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 60 });
    const secret = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(letters, fc.array(secret, { maxLength: 4 }), (text, secrets) => {
        const covered = Array.from(text, (_, at) =>
          secrets.some((each) => {
            for (let start = Math.max(0, at - each.length + 1); start <= at; start += 1) {
              if (text.startsWith(each, start)) return true;
            }
            return false;
          }),
        );
        const clean = redact(text, secrets);
        expect(clean.replaceAll(REDACTED, '')).toBe(
          text
            .split('')
            .filter((_, at) => !covered[at])
            .join(''),
        );
        for (const piece of clean.split(REDACTED)) for (const each of secrets) expect(piece).not.toContain(each);
        expect(redact(text, secrets.toReversed())).toBe(clean);
      }),
      { numRuns: 500 },
    );
  });
});
