// Where files live, as settings: a folder of this machine, or a bucket of S3 or of anything that speaks it. Credentials
// are never among them; they come from the places where AWS's own tools look.
import { z } from 'zod';
import type { SpecFault } from './spec-fault.ts';
import { checkForm, someText, textThat } from './spec-form.ts';

/** How the server encrypts what it keeps. @default what the bucket itself is set to */
export type S3Encryption =
  | { readonly type: 'sse-s3' }
  | {
      readonly type: 'sse-kms';
      /** Id or ARN. @default the account's own key for S3 */
      readonly keyId?: string;
      /** Fewer, cheaper requests to KMS. @default what the bucket itself is set to */
      readonly bucketKey?: boolean;
    }
  | {
      readonly type: 'sse-c';
      /** The environment variable with the key: 32 bytes in base64. Whoever loses it has lost the files. */
      readonly keyVariable: string;
    };

/** Files in a bucket. */
export interface S3StoreSettings {
  readonly type: 's3';
  readonly bucket: string;
  /** Put before every key; several projects may share a bucket. @default none */
  readonly prefix?: string;
  /** @default AWS_REGION, the profile's, and `us-east-1` where an endpoint is named */
  readonly region?: string;
  /** `http://` or `https://` and a host, for servers other than AWS. @default AWS */
  readonly endpoint?: string;
  /** `host/bucket` instead of `bucket.host`. @default true where an endpoint is named */
  readonly forcePathStyle?: boolean;
  readonly encryption?: S3Encryption;
}

/** Files in a folder of this machine. */
export interface LocalStoreSettings {
  readonly type: 'local';
  /** @default `store` in the home */
  readonly folder?: string;
}

/** Where files live. */
export type StoreSettings = S3StoreSettings | LocalStoreSettings;

/** The environment variable that comes before `store` in `temporal.config`. */
export const STORE_SETTING = 'LONGSHORE_STORE';

const endpointText = textThat(
  isEndpoint,
  'an address such as https://s3.example.com, without path, user or query',
  'Give credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and bucket and prefix in their own settings.',
);

const bucketText = textThat(
  (text) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text),
  'the name of a bucket: 3 to 63 small letters, digits, dots and hyphens',
  'Give the bucket alone, and the rest of the key as `prefix`.',
);

const prefixText = textThat(
  (text) => text.split('/').every((segment) => /^(?!\.)[\w.-]{1,100}(?<!\.)$/.test(segment)),
  'segments of letters, digits, `_`, `-` and inner dots, with single slashes between them',
  'Leave out slashes at both ends.',
);

const encryption = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('sse-s3') }),
  z.strictObject({ type: z.literal('sse-kms'), keyId: someText().optional(), bucketKey: z.boolean().optional() }),
  z.strictObject({ type: z.literal('sse-c'), keyVariable: someText('the name of an environment variable') }),
]);

/** The form of `store` in `temporal.config`. */
export const storeForm = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('s3'),
    bucket: bucketText,
    prefix: prefixText.optional(),
    region: someText().optional(),
    endpoint: endpointText.optional(),
    forcePathStyle: z.boolean().optional(),
    encryption: encryption.optional(),
  }),
  z.strictObject({ type: z.literal('local'), folder: someText('the path of a folder').optional() }),
]);

/** The settings, or all that is wrong with them. */
export type StoreCheck = { readonly settings: StoreSettings } | { readonly faults: readonly SpecFault[] };

/** Checks settings that came as data; never throws. */
export function checkStoreSettings(value: unknown): StoreCheck {
  const form = checkForm(storeForm, value);
  // The schema has proved the form; it types absent keys as possibly undefined.
  return 'faults' in form ? form : { settings: form.data as StoreSettings };
}

/**
 * Reads the value of `LONGSHORE_STORE`; never throws.
 *
 * `s3://bucket/prefix?endpoint=…&region=…&forcePathStyle=true&encryption=sse-kms&keyId=…&bucketKey=true`, of which all
 * after the bucket may be left out; anything without `s3://` is the path of a folder.
 */
export function parseStoreText(text: string): StoreCheck {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return checkStoreSettings({ type: 'local', folder: text });
  const url = URL.parse(text);
  if (url === null || url.protocol !== 's3:' || url.username !== '' || url.password !== '' || url.hash !== '') {
    const mend = 'Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or an AWS profile.';
    return { faults: [{ path: '', message: 'expected s3://bucket/prefix without a user, or a folder', mend }] };
  }
  // From the text: `URL` would resolve `..`, which is no part of a prefix, and must be refused as escapes are.
  const prefix = (/^[^/]*\/\/[^/?]*([^?]*)/.exec(text)?.[1] ?? '').replace(/^\/|\/$/g, '');
  return checkStoreSettings({
    type: 's3',
    bucket: url.host,
    ...(prefix !== '' && { prefix }),
    ...fromQuery(url.searchParams),
  });
}

const ENCRYPTION_KEYS: ReadonlySet<string> = new Set(['keyId', 'bucketKey', 'keyVariable']);

/** The query as settings; what is unknown goes on as it is, for the check to name it. */
function fromQuery(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {};
  const inner: Record<string, unknown> = {};
  for (const [key, text] of query) {
    const value = text === 'true' ? true : text === 'false' ? false : text;
    if (key === 'encryption') inner['type'] = value;
    else if (ENCRYPTION_KEYS.has(key)) inner[key] = value;
    else settings[key] = value;
  }
  return Object.keys(inner).length === 0 ? settings : { ...settings, encryption: inner };
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '' && url.pathname === '/';
}
