// The parts that errors are made of: waits, context numbers, words of providers, redaction.
import { APICallError, LoadAPIKeyError, NoSuchModelError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { contextNumbers, speaksOfContext } from '../../activities/model/context-limit.ts';
import { classifyModelError, classifyStreamError } from '../../activities/model/errors.ts';
import { wordsOf, wordsOfBody } from '../../activities/model/provider-words.ts';
import { boundText, createRedact } from '../../activities/model/redact.ts';
import { retryAfterMs } from '../../activities/model/retry-after.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');

describe('retryAfterMs', () => {
  it.each([
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['a date', { 'retry-after': 'Mon, 30 Nov 2026 12:01:00 GMT' }, 60_000],
    ['a date that has passed', { 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, 0],
    ['milliseconds before seconds', { 'retry-after-ms': '1500.5', 'retry-after': '2' }, 1501],
    [
      'what is used up, not what resets last',
      {
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-requests': '9',
        'x-ratelimit-reset-requests': '1h',
      },
      360_000,
    ],
    ['milliseconds as a duration', { 'x-ratelimit-reset-requests': '120ms' }, 120],
    ['a point in time in seconds', { 'x-ratelimit-reset': String(NOW / 1000 + 30) }, 30_000],
    ['a point in time in milliseconds', { 'x-ratelimit-reset': String(NOW + 45_000) }, 45_000],
    ['seconds from now', { 'x-ratelimit-reset': '15' }, 15_000],
    ['nonsense as no wait', { 'retry-after': 'soon', 'x-ratelimit-reset': '' }, undefined],
    ['a negative wait as none', { 'retry-after': '-5' }, 0],
    ['a year as an hour', { 'retry-after': '31536000' }, 3_600_000],
  ])('reads %s', (_, headers, wait) => {
    expect(retryAfterMs(headers, '', NOW)).toBe(wait);
  });

  it('reads the message where no header says it', () => {
    expect(retryAfterMs({}, 'Limit reached. Please try again in 1m2.5s. Visit …', NOW)).toBe(62_500);
    expect(retryAfterMs({}, 'Please try again in 846ms.', NOW)).toBe(846);
    expect(retryAfterMs({ 'retry-after': '1' }, 'try again in 9s', NOW)).toBe(1000);
  });
});

describe('a context that is exceeded', () => {
  it('is told by what was asked and the limit', () => {
    const vllm =
      'This model’s maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the completion).';
    expect(contextNumbers(vllm)).toEqual({ asked: 5000, limit: 4096 });
  });

  it('has no numbers where they make no sense', () => {
    expect(
      contextNumbers('The maximum context length is 4096 tokens and your request has 20 input tokens.'),
    ).toBeNull();
    expect(contextNumbers('too long')).toBeNull();
  });

  it('is not seen in other refusals', () => {
    for (const message of [
      'Invalid schema for function read',
      'Unsupported parameter: max_tokens',
      'image too small',
    ]) {
      expect(speaksOfContext(message, ['invalid_request_error'])).toBe(false);
    }
  });
});

describe('words of a provider', () => {
  const as = createRedact([]);

  it('are found in every form', () => {
    expect(wordsOfBody('{"error":{"message":"m","code":"c","type":"t"}}', as)).toEqual({
      message: 'm',
      codes: ['c', 't'],
    });
    expect(wordsOfBody('{"error":"m"}', as).message).toBe('m');
    expect(wordsOfBody('{"message":"m","code":503}', as)).toEqual({ message: 'm', codes: ['503'], status: 503 });
    expect(wordsOfBody('{"detail":"m"}', as).message).toBe('m');
    expect(wordsOfBody('{"odd":1}', as).message).toBe('{"odd":1}');
    expect(wordsOfBody('', as).message).toBe('');
    expect(wordsOf('m', as).message).toBe('m');
    expect(wordsOf(null, as).message).toBe('');
  });

  it('never show a part of a secret where they are cut', () => {
    const secret = 'hush-hush-hush-hush';
    const context = { model: 'acme/x', redact: createRedact([secret]), streaming: true };
    for (let length = 2048 - secret.length - 3; length <= 2048; length += 1) {
      const message = `${'x'.repeat(length)}${secret} and more`;
      const call = { message: '', url: 'https://api.acme.test', requestBodyValues: {}, statusCode: 400 };
      const refused = new APICallError({ ...call, responseBody: JSON.stringify({ error: { message } }) });
      const told = [refused, new Error(message)].map((error) => classifyModelError(error, context).message);
      told.push(classifyStreamError({ message }, context).message, wordsOfBody(message, context.redact).message);
      for (const text of told) expect(text).not.toContain('hus');
    }
  });
});

describe('a redactor', () => {
  it('removes every occurrence, the longer secret first, whatever it is made of', () => {
    const redact = createRedact(['abcd', 'abcd-efgh', ' $pecial.* ', '', undefined, 'x']);
    expect(redact('abcd-efgh abcd $pecial.* x')).toBe('[redacted] [redacted] [redacted] x');
  });

  it('removes what looks like a key, be it nobody’s', () => {
    expect(createRedact([])('Incorrect API key provided: sk-ab12****wxyz; Authorization: Bearer eyJhbGci.x-y_z')).toBe(
      'Incorrect API key provided: [redacted]; Authorization: [redacted]',
    );
  });
});

describe('boundText', () => {
  it('never cuts a character', () => {
    expect(boundText('ab€cd', 7)).toBe('ab€cd');
    expect(boundText('ab€cd', 6)).toBe('ab…');
    expect(boundText('👩‍🚀👩‍🚀', 10).isWellFormed()).toBe(true);
  });
});

describe('an error of another provider', () => {
  const context = { model: 'acme/x', redact: createRedact(['hush-hush']), streaming: false };
  const call = { url: 'https://api.acme.test/v1?key=hush-hush', requestBodyValues: { hush: 'hush-hush' } };

  it.each([
    [new LoadAPIKeyError({ message: 'ACME_KEY is missing' }), 'ModelUnauthorized'],
    [new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }), 'ModelNotFound'],
    [new UnsupportedFunctionalityError({ functionality: 'audio' }), 'ModelRefused'],
    [new APICallError({ ...call, message: 'busy', statusCode: 529 }), 'ModelOverloaded'],
    [new APICallError({ ...call, message: 'Cannot connect to API: nope' }), 'ModelUnreachable'],
    [Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }), 'ModelUnreachable'],
    [new Error('hush-hush went wrong'), 'ModelAnswerInvalid'],
  ])('%s has its type and tells no secret', (error, type) => {
    const classified = classifyModelError(error, context);
    expect(classified.type).toBe(type);
    expect(JSON.stringify([classified.message, classified.mend, classified])).not.toContain('hush-hush');
    expect(classified.cause).toBeUndefined();
  });
});
