// The S3 driver on a real server: the contract's suite.
import { afterAll, beforeAll } from 'vitest';
import { startS3Server, type S3TestServer } from '../support/s3-server.ts';
import { fileStoreContract } from './file-store.ts';

const MAKE_SERVER_MS = 900_000;
let server: S3TestServer;
beforeAll(async () => {
  server = await startS3Server();
}, MAKE_SERVER_MS);
afterAll(async () => server.stop());

fileStoreContract('[S3-1] s3', async () => {
  const settings = server.settings();
  return {
    store: server.store(settings),
    reopen: async () => server.store(settings),
    damage: async (sha256) => {
      const Key = `${settings.prefix}/default/blobs/${sha256.slice(0, 2)}/${sha256}`;
      const { Body } = await server.client.getObject({ Bucket: server.bucket, Key });
      const content = Buffer.from((await Body?.transformToByteArray()) ?? []);
      content[0] = (content[0] ?? 0) ^ 1;
      await server.client.putObject({ Bucket: server.bucket, Key, Body: content });
    },
    cleanUp: async () => {},
  };
});
