// What the S3 driver makes of servers that refuse, throttle, hang, break off or forget, on a real server behind a proxy.
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { startS3Proxy, type ProxyAct, type ProxyRequest, type S3Proxy } from '../support/s3-proxy.ts';
import { startS3Server, type S3TestServer } from '../support/s3-server.ts';
import { collect, failureOf, inChunks } from './file-store.ts';

const MB = 1_000_000;
const PASS: ProxyAct = { type: 'pass' };
let server: S3TestServer;
const proxies: S3Proxy[] = [];
beforeAll(async () => {
  server = await startS3Server();
}, 900_000);
afterAll(async () => server.stop());
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close();
});

async function behind(
  decide: (request: ProxyRequest, index: number) => ProxyAct,
  more: Parameters<S3TestServer['store']>[1] = {},
): Promise<{ readonly store: FileStore; readonly proxy: S3Proxy }> {
  const proxy = await startS3Proxy(server.endpoint, decide);
  proxies.push(proxy);
  return { store: server.store(server.settings({ endpoint: proxy.endpoint }), more), proxy };
}

async function errorOf(promise: Promise<unknown>): Promise<LongshoreError> {
  const error: unknown = await promise.then(
    () => new Error('resolved'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof LongshoreError) return error;
  throw error;
}

describe('refusals are told as what they are, with a mend, and are not tried again', () => {
  const refused = async (status: number, code: string): Promise<LongshoreError> => {
    const { store } = await behind(() => ({ type: 'refuse', status, code, message: 'as scripted' }));
    return errorOf(store.putBlob(Buffer.from('x')));
  };

  test.each([
    [403, 'AccessDenied', 'StoreDenied', /s3:PutObject/],
    [403, 'RequestTimeTooSkewed', 'StoreDenied', /clock/],
    [301, 'PermanentRedirect', 'StoreMisconfigured', /region/],
    [400, 'KMS.DisabledException', 'StoreDenied', /KMS/],
    [400, 'ExpiredToken', 'StoreUnavailable', /credentials/],
    [507, 'InsufficientStorage', 'StoreFull', /room/],
    [403, 'QuotaExceeded', 'StoreFull', /quota/],
    [501, 'NotImplemented', 'StoreMisconfigured', /conditional writes/],
    [500, 'InternalError', 'StoreUnavailable', /server/],
  ])('[S3-2] HTTP %i %s is %s', async (status, code, type, mend) => {
    const error = await refused(status, code);
    expect(error.type).toBe(type);
    expect(error.message).toContain(code);
    expect(error.message).toContain('as scripted');
    expect(error.mend).toMatch(mend);
    expect(error.retryable).toBe(['StoreUnavailable', 'StoreFull'].includes(type));
  });

  test('[S3-2] a wrong secret, and a key that nobody has', async () => {
    for (const wrong of [
      { AWS_SECRET_ACCESS_KEY: 'wrong-secret-0123456789' },
      { AWS_ACCESS_KEY_ID: 'NOSUCHKEY01234567' },
    ]) {
      const store = server.store(server.settings(), { env: { ...server.env, ...wrong } });
      const error = await errorOf(store.putBlob(Buffer.from('x')));
      expect([error.type, error.retryable]).toEqual(['StoreDenied', false]);
      expect(error.mend).toContain('AWS_SECRET_ACCESS_KEY');
    }
  });

  test('[S3-2] a bucket that is not there, by every operation', async () => {
    const store = server.store(server.settings({ bucket: 'nowhere-at-all' }));
    const sha256 = 'a'.repeat(64);
    const operations = [
      () => store.putBlob(Buffer.from('x')),
      () => store.putBlob(randomBytes(100_000)),
      () => store.statBlob(sha256),
      () => store.readBlob(sha256),
      () => store.readBlob(sha256, { start: 0 }),
      () => collect(store.streamBlob(sha256)),
      () => store.deleteBlob(sha256),
      () => collect(store.listBlobs()),
      () => store.getObject('k'),
      () => store.putObject('k', Buffer.from('x')),
      () => store.putObject('k', Buffer.from('x'), { ifAbsent: true }),
      () => store.deleteObject('k'),
      () => collect(store.listObjects('k')),
    ];
    for (const operation of operations) {
      const error = await errorOf(operation());
      expect([operation.toString(), error.type]).toEqual([operation.toString(), 'StoreMisconfigured']);
      expect(error.message).toContain('nowhere-at-all');
      expect(error.mend).toContain('bucket');
    }
  });

  test('[S3-8] no error carries a key or a signature, in its causes neither', async () => {
    const env = { AWS_ACCESS_KEY_ID: server.env.AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: 'wrong-secret-0123456789' };
    const error = await errorOf(server.store(server.settings(), { env }).putBlob(Buffer.from('x')));
    const all = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error.toRecord());
    for (const value of [...Object.values(env), 'Signature=', 'StringToSign']) expect(all).not.toContain(value);
  });
});

describe('what passes is waited for, within bounds', () => {
  const slowDown: ProxyAct = { type: 'refuse', status: 503, code: 'SlowDown' };

  test('[S3-3] a server that throttles twice is asked a third time, one that goes on is given up', async () => {
    const twice = await behind((_, index) => (index < 2 ? slowDown : PASS));
    const ref = await twice.store.putBlob(Buffer.from('throttled'));
    expect(String(Buffer.from(await twice.store.readBlob(ref.sha256)))).toBe('throttled');
    const ever = await behind(() => slowDown);
    const error = await errorOf(ever.store.putBlob(Buffer.from('x')));
    expect([error.type, error.retryable]).toEqual(['StoreUnavailable', true]);
    expect(ever.proxy.requests.length).toBe(3);
  });

  test('[S3-2] a server that cannot delete many keys in one request is asked key by key', async () => {
    const { store, proxy } = await behind(({ method, path }) =>
      method === 'POST' && /[?&]delete/.test(path) ? { type: 'refuse', status: 501, code: 'NotImplemented' } : PASS,
    );
    const refs = await Promise.all(['a', 'b', 'c'].map((text) => store.putBlob(Buffer.from(text))));
    await store.deleteBlobs?.(refs.map(({ sha256 }) => sha256));
    expect(await collect(store.listBlobs())).toEqual([]);
    const together = (): number => proxy.requests.filter(({ method }) => method === 'POST').length;
    const asked = together();
    expect(asked).toBeGreaterThan(0);
    await store.deleteBlobs?.(refs.map(({ sha256 }) => sha256));
    expect(together()).toBe(asked);
  });

  test('[S3-3] a server that does not answer, and one that is not there, are given up in time', async () => {
    const timeouts = { connectMs: 200, idleMs: 150, requestMs: 300 };
    const { store } = await behind(() => ({ type: 'hang' }), { timeouts });
    const begun = performance.now();
    expect(await failureOf(store.putBlob(randomBytes(1000)))).toBe('StoreUnavailable');
    expect(await failureOf(store.readBlob('a'.repeat(64)))).toBe('StoreUnavailable');
    expect(performance.now() - begun).toBeLessThan(15_000);
    const gone = server.store(server.settings({ endpoint: 'http://127.0.0.1:9' }), { timeouts });
    const error = await errorOf(gone.getObject('k'));
    expect(error.type).toBe('StoreUnavailable');
    expect(error.message).toContain('127.0.0.1:9');
  });

  test('[S3-3] an answer that breaks off is asked for again, whole and in part; one that always does is an error', async () => {
    let cuts = 0;
    const { store } = await behind(({ method }) => {
      if (method !== 'GET' || cuts === 0) return PASS;
      cuts -= 1;
      return { type: 'cut', afterBytes: 100_000 };
    });
    const content = randomBytes(2 * MB);
    const { sha256 } = await store.putBlob(content);
    cuts = 1;
    expect(Buffer.compare(await store.readBlob(sha256), content)).toBe(0);
    cuts = 1;
    expect(Buffer.compare(Buffer.concat(await collect(store.streamBlob(sha256))), content)).toBe(0);
    cuts = 1;
    expect(Buffer.compare(await store.readBlob(sha256, { start: 5 }), content.subarray(5))).toBe(0);
    cuts = Infinity;
    expect(await failureOf(store.readBlob(sha256))).toBe('StoreUnavailable');
  });
});

describe('an answer that was lost', () => {
  test('[S3-4] to a write under a condition does not make the write a conflict with itself', async () => {
    for (const condition of ['ifAbsent', 'ifMatch'] as const) {
      let isArmed = false;
      const { store } = await behind(({ method }) => {
        if (method !== 'PUT' || !isArmed) return PASS;
        isArmed = false;
        return { type: 'cut', afterBytes: 0 };
      });
      const before = await store.putObject('other', Buffer.from('0'), { ifAbsent: true }); // conditions are tried out by now
      isArmed = true;
      const { etag } = await (condition === 'ifAbsent'
        ? store.putObject('k', Buffer.from('mine'), { ifAbsent: true })
        : store.putObject('other', Buffer.from('mine'), { ifMatch: before.etag }));
      const key = condition === 'ifAbsent' ? 'k' : 'other';
      expect(await store.getObject(key)).toEqual({ body: new Uint8Array(Buffer.from('mine')), etag });
      expect(await failureOf(store.putObject(key, Buffer.from('2'), { ifAbsent: true }))).toBe('StoreConflict');
    }
  });

  test('[S3-4] to the end of an upload in parts leaves the blob whole', async () => {
    let cuts = 1;
    const { store } = await behind(({ method, path }) => {
      if (method !== 'POST' || !path.includes('uploadId=') || cuts === 0) return PASS;
      cuts -= 1;
      return { type: 'cut', afterBytes: 0 };
    });
    const content = randomBytes(9 * MB);
    const ref = await store.putBlob(content);
    expect(cuts).toBe(0);
    expect(Buffer.compare(await store.readBlob(ref.sha256), content)).toBe(0);
  });
});

describe('conditions', () => {
  test('[S3-5] of a server that ignores them are found out before the first write relies on them', async () => {
    const { store } = await behind(() => ({ type: 'ignoreConditions' }));
    for (let i = 0; i < 2; i += 1) {
      const error = await errorOf(store.putObject('claim', Buffer.from('x'), { ifAbsent: true }));
      expect([error.type, error.retryable]).toEqual(['StoreMisconfigured', false]);
      expect(error.message).toContain('conditional writes');
    }
    expect(await store.getObject('claim')).toBeNull();
    const probes = await server.client.listObjectsV2({ Bucket: server.bucket, Prefix: 'test-' });
    expect((probes.Contents ?? []).filter(({ Key }) => Key?.includes('/probes/'))).toEqual([]);
  });

  test('[S3-5] are tried out once a store, and a write that the server left undecided is sent again', async () => {
    let undecided = 2;
    const { store, proxy } = await behind(({ method, path }) => {
      if (method !== 'PUT' || !path.includes('/objects/') || undecided === 0) return PASS;
      undecided -= 1;
      return {
        type: 'refuse',
        status: 409,
        code: undecided ? 'ConditionalRequestConflict' : 'ExistingObjectIsDirectory',
      };
    });
    await Promise.all(['a', 'b', 'c'].map(async (key) => store.putObject(key, Buffer.from(key), { ifAbsent: true })));
    expect(proxy.requests.filter(({ path }) => path.includes('/probes/')).length).toBe(4);
    expect(await collect(store.listObjects(''))).toEqual(['a', 'b', 'c']);
  });

  test('[S3-5] are tried out again where the server left the trial undecided, and given up where it never decides', async () => {
    const refusal = { type: 'refuse', status: 409, code: 'ExistingObjectIsDirectory' } as const;
    let undecided = 1;
    const passing = await behind(({ path }) => (path.includes('/probes/') && undecided-- > 0 ? refusal : PASS));
    await passing.store.putObject('claim', Buffer.from('x'), { ifAbsent: true });
    const lasting = await behind(({ path, method }) =>
      method === 'PUT' && path.includes('/objects/') ? refusal : PASS,
    );
    const error = await errorOf(lasting.store.putObject('claim', Buffer.from('x'), { ifAbsent: true }));
    expect([error.type, error.retryable]).toEqual(['StoreUnavailable', true]);
    expect(lasting.proxy.requests.filter(({ path }) => path.includes('/objects/'))).toHaveLength(10);
  });
});

describe('encryption', () => {
  const key = randomBytes(32).toString('base64');
  const kms = { type: 'sse-kms', keyId: 'key-1', bucketKey: true } as const;
  test.each([
    ['sse-s3', { type: 'sse-s3' } as const, { 'x-amz-server-side-encryption': 'AES256' }],
    [
      'sse-kms',
      kms,
      {
        'x-amz-server-side-encryption': 'aws:kms',
        'x-amz-server-side-encryption-aws-kms-key-id': 'key-1',
        'x-amz-server-side-encryption-bucket-key-enabled': 'true',
      },
    ],
    [
      'sse-c',
      { type: 'sse-c', keyVariable: 'STORE_KEY' } as const,
      { 'x-amz-server-side-encryption-customer-algorithm': 'AES256', 'x-amz-server-side-encryption-customer-key': key },
    ],
  ])('[S3-7] %s goes with every write, and a key of our own with every read', async (name, encryption, headers) => {
    const upload = '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>';
    const proxy = await startS3Proxy(server.endpoint, ({ path, method }) =>
      (method === 'HEAD' || method === 'GET') && path.includes('/default/')
        ? { type: 'refuse', status: 404, code: 'NoSuchKey' }
        : { type: 'answer', status: 200, headers: { etag: '"1"' }, body: path.includes('?uploads') ? upload : '' },
    );
    proxies.push(proxy);
    const settings = server.settings({ endpoint: proxy.endpoint, encryption });
    const store = server.store(settings, { env: { ...server.env, STORE_KEY: key } });
    await store.putBlob(Buffer.from('small'));
    await store.putObject('k', Buffer.from('small'));
    await store.putBlob(randomBytes(9 * MB)).catch(() => {}); // the scripted answers do not complete it
    await store.readBlob('a'.repeat(64)).catch(() => {});
    const writes = proxy.requests.filter(({ path, method }) => method === 'PUT' && !path.includes('partNumber'));
    const creates = proxy.requests.filter(({ path }) => path.includes('?uploads'));
    const others = proxy.requests.filter(({ path, method }) => method === 'GET' || path.includes('partNumber'));
    expect([writes.length, creates.length, others.length > 2]).toEqual([2, 1, true]);
    for (const request of [...writes, ...creates]) expect(request.headers).toMatchObject(headers);
    const reading = others.filter(({ path }) => !path.includes('list-type') && !path.includes('uploads'));
    const ofReading = name === 'sse-c' ? Object.entries(headers) : [];
    for (const request of reading) {
      const sent = Object.entries(request.headers).filter(([header]) => /encryption(?!.*md5$)/i.test(header));
      expect(Object.fromEntries(sent)).toEqual(Object.fromEntries(ofReading));
    }
  });

  test('[S3-7] without the key in the environment, or with half of one, is refused at once', () => {
    const settings = server.settings({ encryption: { type: 'sse-c', keyVariable: 'STORE_KEY' } });
    expect(() => server.store(settings)).toThrow(/STORE_KEY.*not set/);
    expect(() => server.store(settings, { env: { ...server.env, STORE_KEY: 'c2hvcnQ=' } })).toThrow(/5 bytes/);
  });
});

describe('large and many', () => {
  test('[S3-11] a listing of more than a page of a thousand is whole and sorted', async () => {
    const store = server.store(server.settings());
    const keys = Array.from({ length: 1_030 }, (_, i) => `many/${String(i).padStart(4, '0')}`);
    const next = keys.values();
    const put = async (): Promise<void> => {
      for (const key of next) await store.putObject(key, Buffer.from('x'));
    };
    await Promise.all(Array.from({ length: 16 }, put));
    expect(await collect(store.listObjects('many'))).toEqual(keys);
  });

  test('[S3-6] an upload that fails leaves no parts behind', async () => {
    const settings = server.settings();
    const store = server.store(settings);
    async function* broken(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 20; i += 1) yield randomBytes(MB);
      throw new Error('the source broke');
    }
    await expect(store.putBlob(broken())).rejects.toThrow('the source broke');
    const content = randomBytes(10 * MB);
    const wrong = { sha256: 'a'.repeat(64), bytes: content.byteLength };
    expect(await failureOf(store.putBlob(inChunks(content, 70_001), wrong))).toBe('BlobCorrupt');
    expect(await leftOf(settings.prefix)).toEqual([]);
  });
});

async function leftOf(prefix: string | undefined): Promise<readonly unknown[]> {
  const { bucket: Bucket, client } = server;
  const uploads = await client.listMultipartUploads({ Bucket, Prefix: prefix });
  const objects = await client.listObjectsV2({ Bucket, Prefix: prefix });
  return [...(uploads.Uploads ?? []), ...(objects.Contents ?? [])].map(({ Key }) => Key);
}
