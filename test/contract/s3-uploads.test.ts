// Large bodies on the S3 driver: bounded memory, a server that dies in the middle, and what killed writers leave.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { s3Connection, S3_TIMEOUTS } from '../../activities/store/s3-client.ts';
import { copyOnServer } from '../../activities/store/s3-copy.ts';
import { s3Layout } from '../../activities/store/s3-layout.ts';
import { removeAbandonedUploads } from '../../activities/store/s3-multipart.ts';
import { until } from '../support/process.ts';
import { startS3Server, type S3TestServer } from '../support/s3-server.ts';
import { collect, failureOf, sha256Of } from './file-store.ts';

const MB = 1_000_000;
const DAY_MS = 86_400_000;
let server: S3TestServer;
beforeAll(async () => {
  server = await startS3Server();
}, 900_000);
afterAll(async () => server.stop());

test('[S3-6] 200 MB of a stream whose length nobody knows go and come in less than 150 MB of memory', async () => {
  const program = join(import.meta.dirname, '../support/s3-large.ts');
  const settings = JSON.stringify(server.settings());
  const { stdout } = await promisify(execFile)(process.execPath, [program, settings, String(200 * MB)], {
    env: { ...process.env, ...server.env },
  });
  // The program prints one document of this form.
  const result = JSON.parse(stdout) as {
    readonly ref: { readonly sha256: string; readonly bytes: number };
    readonly expected: string;
    readonly read: number;
    readonly grownMb: number;
  };
  expect(result.ref).toEqual({ sha256: result.expected, bytes: 200 * MB });
  expect(result.read).toBe(200 * MB);
  expect(result.grownMb).toBeLessThan(150);
});

test('[S3-6] a server that dies during an upload leaves nothing visible, and the write can be done again', async () => {
  const settings = server.settings();
  const store = server.store(settings);
  const content = randomBytes(30 * MB);
  const ref = { sha256: sha256Of(content), bytes: content.byteLength };
  async function* dying(): AsyncGenerator<Uint8Array> {
    yield content.subarray(0, 20 * MB);
    await until('parts are on the server', async () => {
      const { Uploads = [] } = await server.client.listMultipartUploads({
        Bucket: server.bucket,
        Prefix: settings.prefix,
      });
      return Uploads.length > 0;
    });
    await server.kill();
    yield content.subarray(20 * MB);
  }
  expect(await failureOf(store.putBlob(dying(), ref))).toBe('StoreUnavailable');
  await server.restart();
  expect(await store.statBlob(ref.sha256)).toBeNull();
  expect(await collect(store.listBlobs())).toEqual([]);
  const connection = s3Connection({ settings, env: server.env, timeouts: S3_TIMEOUTS });
  const layout = s3Layout(settings.prefix, 'default');
  const left = async (): Promise<number> => {
    const { Uploads = [] } = await server.client.listMultipartUploads({ Bucket: server.bucket, Prefix: layout.root });
    return Uploads.length;
  };
  expect(await left()).toBe(1); // it could not be aborted
  expect(await store.putBlob(content, ref)).toEqual(ref);
  expect(Buffer.compare(await store.readBlob(ref.sha256), content)).toBe(0);
  await removeAbandonedUploads(connection, layout, Date.now());
  expect(await left()).toBe(1); // it might be another writer's
  await removeAbandonedUploads(connection, layout, Date.now() + DAY_MS + 60_000);
  expect(await left()).toBe(0);
  expect(Buffer.compare(await store.readBlob(ref.sha256), content)).toBe(0);
});

test('[S3-6] what is too large to be copied at once is copied in parts', async () => {
  const settings = server.settings();
  const connection = s3Connection({ settings, env: server.env, timeouts: S3_TIMEOUTS });
  const content = randomBytes(13 * MB);
  const [from, to] = [`${settings.prefix}/a%2Fb c`, `${settings.prefix}/to`];
  await server.client.putObject({ Bucket: server.bucket, Key: from, Body: content });
  await copyOnServer(connection, { from, to, bytes: content.byteLength, copyBytes: 6 * 1024 * 1024 });
  const { Body } = await server.client.getObject({ Bucket: server.bucket, Key: to });
  expect(Buffer.compare((await Body?.transformToByteArray()) ?? Buffer.alloc(0), content)).toBe(0);
});
