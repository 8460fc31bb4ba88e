// What is taken out of a model's answer: credentials, wherever and however they are written, and nothing that a call needs.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { credentialsOf } from '../../shared/mcp-config-credentials.ts';
import type { McpConfig } from '../../shared/mcp-config.ts';
import { redact } from '../../shared/mcp-config-schema.ts';
import type { ModelAnswer, ModelRequest } from '../../shared/model.ts';
import { redactingModel, rememberingCredentials } from '../../worker/secrets.ts';

const config: McpConfig = {
  source: 'mcp.json',
  servers: {
    fs: {
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'server-filesystem', '${REPORTS:-reports}', '--api-key=literal-key', '--token', '${CLI_TOKEN}'],
      env: {
        API_PASSWORD: 'open sesame',
        REGION: 'frankfurt',
        HARBOUR: '${HARBOUR}',
        FILE: '${FILE}',
        ID: 'a1b2c3d4e5f6g7',
      },
      cwd: '${HOME}',
    },
    web: { type: 'http', url: 'https://x.example/${TENANT}', headers: { Authorization: 'Bearer ${WEB_TOKEN}' } },
  },
};
const env = {
  HARBOUR: 'harbour-value',
  FILE: '/data/memory.json',
  CLI_TOKEN: 'cli-token-value',
  HOME: '/home/ada',
  TENANT: 'tenant-name',
  WEB_TOKEN: 'web-token-value',
};

describe('the credentials of a configuration', () => {
  const credentials = credentialsOf(config, env);

  it.each([
    'literal-key',
    'cli-token-value',
    'open sesame',
    'harbour-value',
    'a1b2c3d4e5f6g7',
    'tenant-name',
    'web-token-value',
  ])('include %s', (value) => expect(credentials).toContain(value));

  it.each(['reports', 'frankfurt', '/data/memory.json', '/home/ada', 'server-filesystem'])(
    'leave out %s, which a call may need',
    (value) => expect(credentials).not.toContain(value),
  );

  it('include one that was replaced since, beside the new one', () => {
    const changing: Record<string, string> = { ...env };
    const known = rememberingCredentials(config, changing);
    known();
    changing['WEB_TOKEN'] = 'another-token';
    expect(known()).toEqual(expect.arrayContaining(['web-token-value', 'another-token']));
  });
});

describe("a model's answer", () => {
  const SECRET = 'hush-"quoted"-5f2c';
  // What the model reads is its own affair.
  const request = {} as ModelRequest;
  const clean = (answer: Partial<ModelAnswer>): Promise<ModelAnswer> => {
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
    const whole = { text: '', reasoning: [], toolCalls: [], finishReason: 'stop', usage, modelName: 'm', ...answer };
    const secrets = [SECRET, JSON.stringify(SECRET).slice(1, -1)];
    return redactingModel(
      () => Promise.resolve(whole),
      (text) => redact(text, secrets),
    )(request);
  };
  const call = (inputText: string) => ({ providerCallId: SECRET, name: `tool ${SECRET}`, inputText });

  it('holds no secret in text, reasoning, names, ids and metadata', async () => {
    const answer = await clean({
      text: `It is ${SECRET}.`,
      reasoning: [{ text: SECRET, providerMetadata: { signature: [SECRET] } }],
      toolCalls: [call('{}')],
      modelName: SECRET,
    });
    expect(JSON.stringify(answer)).not.toContain('5f2c');
    expect(answer).toMatchObject({ text: 'It is [redacted].', toolCalls: [{ inputText: '{}' }] });
  });

  it('holds none in arguments, with whatever escapes they are written, and stays the JSON it was', async () => {
    const escapes = fc.array(fc.boolean(), { minLength: SECRET.length, maxLength: SECRET.length });
    await fc.assert(
      fc.asyncProperty(escapes, fc.jsonValue(), async (isEscaped, other) => {
        const written = Array.from(SECRET).map((one, at) => {
          if (isEscaped[at]) return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
          return JSON.stringify(one).slice(1, -1);
        });
        const text = `{"note":"a ${written.join('')} b","${written.join('')}":1,"other":${JSON.stringify(other)}}`;
        const { toolCalls } = await clean({ toolCalls: [call(text)] });
        const parsed: unknown = JSON.parse(toolCalls[0]?.inputText ?? '');
        const expected = {
          note: 'a [redacted] b',
          '[redacted]': 1,
          other: JSON.parse(JSON.stringify(other)) as unknown,
        };
        expect(parsed).toEqual(expected);
      }),
    );
  });

  it('without a secret is the same to the character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
        const { toolCalls } = await clean({ toolCalls: [{ providerCallId: 'a', name: 'b', inputText: text }] });
        expect(toolCalls[0]?.inputText).toBe(text);
      }),
    );
  });
});
