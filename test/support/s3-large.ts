// A process that streams a large body into an S3 store and back, and prints how much memory that took.
// Usage: s3-large.ts SETTINGS BYTES; credentials in the environment; prints one JSON document.
import { createHash } from 'node:crypto';
import { createS3Store } from '../../activities/store/s3.ts';
import type { S3StoreSettings } from '../../shared/store-settings.ts';

const [settingsText = '', bytesText = ''] = process.argv.slice(2);
const store = createS3Store({ settings: JSON.parse(settingsText) as S3StoreSettings, namespace: 'default' });
const CHUNK = Buffer.alloc(1_000_003);

/** Chunks in one buffer that is used again, each with its number at the front. */
async function* body(): AsyncGenerator<Uint8Array> {
  let left = Number(bytesText);
  for (let i = 0; left > 0; i += 1) {
    CHUNK.writeUInt32LE(i);
    yield CHUNK.subarray(0, Math.min(left, CHUNK.length));
    left -= CHUNK.length;
  }
}

const hash = createHash('sha256');
for await (const chunk of body()) hash.update(chunk);
await store.putBlob(Buffer.from('what is loaded at the first request is no matter of size'));
const before = process.resourceUsage().maxRSS;
const begun = performance.now();
const ref = await store.putBlob(body());
const wroteMs = performance.now() - begun;
let read = 0;
for await (const chunk of store.streamBlob(ref.sha256)) read += chunk.byteLength;
const grownMb = (process.resourceUsage().maxRSS - before) / 1024; // maxRSS is in KiB
process.stdout.write(JSON.stringify({ ref, expected: hash.digest('hex'), read, grownMb, wroteMs }));
