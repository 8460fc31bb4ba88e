// A payload codec of a user's own: everything on the server is encrypted, so that nobody reads it without the key.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const KEY = createHash('sha256').update('a key for tests').digest();
const ENCODING = Buffer.from('binary/test-encrypted');

/** AES-256-GCM over the whole payload, metadata included. */
export const encryptingCodec: PayloadCodec = {
  encode: (payloads: Payload[]) => Promise.resolve(payloads.map(encrypt)),
  decode: (payloads: Payload[]) => Promise.resolve(payloads.map(decrypt)),
};

function encrypt(payload: Payload): Payload {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', KEY, iv);
  const plain = temporal.api.common.v1.Payload.encode(payload).finish();
  const data = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: ENCODING }, data };
}

function decrypt(payload: Payload): Payload {
  const { data } = payload;
  if (!data || Buffer.compare(Buffer.from(payload.metadata?.['encoding'] ?? []), ENCODING) !== 0) {
    throw new Error('A payload came that this codec has not written');
  }
  const decipher = createDecipheriv('aes-256-gcm', KEY, data.subarray(0, 12));
  decipher.setAuthTag(data.subarray(data.length - 16));
  const plain = Buffer.concat([decipher.update(data.subarray(12, data.length - 16)), decipher.final()]);
  return temporal.api.common.v1.Payload.decode(plain);
}
