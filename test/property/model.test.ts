// What must hold of every text a model writes and every failure a provider has.
import { APICallError } from '@ai-sdk/provider';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyModelError, classifyStreamError, ModelError } from '../../activities/model/errors.ts';
import { boundText, createRedact } from '../../activities/model/redact.ts';
import { LONGEST_WAIT_MS, retryAfterMs } from '../../activities/model/retry-after.ts';
import { callIdFor, parseArguments, usableCallId } from '../../activities/model/tool-calls.ts';
import { ERROR_KINDS } from '../../shared/errors.ts';

const SECRET = 'sk-property-0123456789abcdef';
const context = { model: 'openai/m', redact: createRedact([SECRET]), streaming: false };

describe('parseArguments', () => {
  it('reads back every JSON object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), fc.boolean(), (input, fenced) => {
        const text = JSON.stringify(input);
        const result = parseArguments(fenced ? `\`\`\`json\n${text}\n\`\`\`` : text);
        expect(result).toEqual({ input: JSON.parse(text) });
      }),
    );
  });

  it('never throws, and places every problem inside the text', () => {
    const almost = fc
      .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 3 }))
      .map(
        ([json, at, noise]) => `${json.slice(0, at % (json.length + 1))}${noise}${json.slice(at % (json.length + 1))}`,
      );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          almost,
          almost.map((text) => text.slice(0, -1)),
        ),
        (text) => {
          const result = parseArguments(text);
          if ('input' in result) return;
          expect(result.raw).toBe(text);
          const position = Number(/position (\d+)/.exec(result.problem)?.[1]);
          expect(position).toBeGreaterThanOrEqual(0);
          expect(position).toBeLessThanOrEqual(text.length);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('a made call id', () => {
  it('is always usable', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(1024), fc.nat(1000), (turn, step, index) => {
        expect(usableCallId(callIdFor(`t${turn}/${step}/${index}`), new Set())).toBe(true);
      }),
    );
  });
});

describe('classification', () => {
  const words = fc.oneof(
    fc.string(),
    fc.constant(`key ${SECRET} seen`),
    fc.constant('maximum context length is 5 tokens'),
  );
  const body = fc.oneof(
    words,
    fc.json(),
    words.map((message) => JSON.stringify({ error: { message, code: 'insufficient_quota' } })),
    fc.record({ message: fc.jsonValue(), code: fc.jsonValue() }).map((error) => JSON.stringify({ error })),
  );

  it('gives one type of the catalogue for every status, retried only where that can help', () => {
    const headers = fc.dictionary(
      fc.constantFrom('retry-after', 'retry-after-ms', 'x-ratelimit-reset', 'authorization'),
      words,
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 300, max: 599 }),
        body,
        headers,
        words,
        (statusCode, responseBody, responseHeaders, message) => {
          const url = `https://host.test/v1?key=${SECRET}`;
          const thrown = new APICallError({
            message,
            url,
            requestBodyValues: {},
            statusCode,
            responseBody,
            responseHeaders,
          });
          const error = classifyModelError(thrown, context);
          expect(Object.keys(ERROR_KINDS)).toContain(error.type);
          expect(error.httpStatus).toBe(statusCode);
          expect(error.retryable).toBe(
            error.type === 'ModelRateLimited' || statusCode >= 500 || [408, 409, 425].includes(statusCode),
          );
          expect(error.type !== 'ModelRateLimited' || statusCode === 429).toBe(true);
          expect(`${error.message}${error.mend}`).not.toContain(SECRET);
          expect(Buffer.byteLength(error.message)).toBeLessThan(2500);
          expect(error.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
          expect(error.retryAfterMs ?? 0).toBeLessThanOrEqual(LONGEST_WAIT_MS);
        },
      ),
      { numRuns: 600 },
    );
  });

  it('takes anything that can be thrown or sent in a stream', () => {
    fc.assert(
      fc.property(fc.anything(), fc.boolean(), (thrown, streaming) => {
        for (const classify of [classifyModelError, classifyStreamError]) {
          expect(classify(thrown, { ...context, streaming })).toBeInstanceOf(ModelError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('bounds', () => {
  it('hold for every text, and leave it well formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 3, max: 40 }), (text, max) => {
        const bounded = boundText(text, max);
        expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(max);
        expect(bounded.isWellFormed()).toBe(true);
        expect(bounded === text).toBe(Buffer.byteLength(text) <= max);
      }),
    );
  });

  it('hold for every wait', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String)), fc.string(), (header, message) => {
        const wait = retryAfterMs({ 'retry-after': header, 'x-ratelimit-reset': header }, message) ?? 0;
        expect(wait >= 0 && wait <= LONGEST_WAIT_MS).toBe(true);
      }),
    );
  });
});
