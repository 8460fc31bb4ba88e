// Where files live, as settings and as a text of the environment; and which values of the environment are secrets then.
import { describe, expect, it } from 'vitest';
import { checkConfig } from '../../shared/config.ts';
import { checkStoreSettings, parseStoreText } from '../../shared/store-settings.ts';
import { openFileStore, storeSettings } from '../../worker/open-store.ts';
import { ownSecrets } from '../../worker/secrets.ts';

const S3 = { type: 's3', bucket: 'agent-files' } as const;

describe('the settings of the store', () => {
  it.each([
    ['s3://agent-files', S3],
    ['s3://agent-files/a/b/', { ...S3, prefix: 'a/b' }],
    [
      's3://agent-files/p?endpoint=http://127.0.0.1:9000&region=eu-west-1&forcePathStyle=false',
      { ...S3, prefix: 'p', endpoint: 'http://127.0.0.1:9000', region: 'eu-west-1', forcePathStyle: false },
    ],
    [
      's3://agent-files?encryption=sse-kms&keyId=k&bucketKey=true',
      { ...S3, encryption: { type: 'sse-kms', keyId: 'k', bucketKey: true } },
    ],
    ['/var/files', { type: 'local', folder: '/var/files' }],
    ['files', { type: 'local', folder: 'files' }],
  ])('[S3-10] %s is read', (text, settings) => {
    expect(parseStoreText(text)).toEqual({ settings });
  });

  it.each([
    's3://',
    's3://Agent_Files',
    's3://user:secret@agent-files',
    's3://agent-files/a//b',
    's3://agent-files/../b',
    's3://agent-files/%zz',
    's3://agent-files?endpoint=ftp://x',
    's3://agent-files?endpoint=http://user:secret@x',
    's3://agent-files?colour=red',
    's3://agent-files?encryption=rot13',
    'gs://agent-files',
  ])('[S3-10] %s is refused, with a fault and a mend', (text) => {
    const check = parseStoreText(text);
    expect('faults' in check && check.faults.length).toBeGreaterThan(0);
    expect(JSON.stringify(check)).not.toContain('secret@');
  });

  it('[S3-10] all faults are listed at once, each with its path', () => {
    const check = checkConfig({ store: { type: 's3', bucket: 'X', prefix: '/', endpoint: 'x', more: 1 } }, 'c');
    expect('faults' in check && check.faults.map(({ path }) => path).sort()).toEqual([
      'store.bucket',
      'store.endpoint',
      'store.more',
      'store.prefix',
    ]);
    expect('faults' in checkStoreSettings({ type: 'tape' })).toBe(true);
  });

  it('[S3-10] the environment comes before the configuration, which comes before the folder', () => {
    expect(storeSettings({ LONGSHORE_STORE: 's3://from-env' }, S3)).toEqual({ type: 's3', bucket: 'from-env' });
    expect(storeSettings({}, S3)).toEqual(S3);
    expect(storeSettings({}, undefined)).toEqual({ type: 'local' });
    expect(() => storeSettings({ LONGSHORE_STORE: 's3://X' }, undefined)).toThrow(/LONGSHORE_STORE/);
    const options = { folder: '/home/store', namespace: 'default', env: {} };
    expect(openFileStore({ ...options, settings: S3 }).description).toBe(
      'S3 bucket agent-files at AWS, namespace default',
    );
    expect(openFileStore(options).description).toContain('/home/store');
  });

  it('[S3-8] keys of AWS and of SSE-C are secrets', () => {
    const env = {
      AWS_ACCESS_KEY_ID: 'AKIA0123456789',
      AWS_SECRET_ACCESS_KEY: 'secret-0123456789',
      AWS_SESSION_TOKEN: 'token-0123456789',
      STORE_KEY: 'a-key-of-our-own',
      AWS_REGION: 'eu-central-1',
    };
    const { AWS_REGION: _, STORE_KEY, ...keys } = env;
    expect(ownSecrets(env)).toEqual(Object.values(keys));
    expect(ownSecrets(env, 'STORE_KEY')).toEqual([...Object.values(keys), STORE_KEY]);
  });
});
