// The connection of the S3 driver: one client of the AWS SDK, made and loaded at the first request (loading takes a
// quarter of a second, which commands that do not need it must not pay), and every error told in the catalogue's words.
import type { S3, S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3StoreSettings } from '../../shared/store-settings.ts';
import { encryptionOf, type S3EncryptionHeaders } from './s3-encryption.ts';
import { failureOf, s3Error, type S3Failure } from './s3-errors.ts';

/** How long is waited. Milliseconds. */
export interface S3Timeouts {
  /** For a connection. */
  readonly connectMs: number;
  /** For a byte to move, in either direction. */
  readonly idleMs: number;
  /** For the answer to a request, its body included. */
  readonly requestMs: number;
}

/** As settings have them by default: a part of 8 MiB takes 70 s at one megabit a second. */
export const S3_TIMEOUTS: S3Timeouts = { connectMs: 5_000, idleMs: 20_000, requestMs: 120_000 };

/** How often a request is sent. The rest of the patience is Temporal's, by its retry policies. Source: architecture D16. */
const MAX_ATTEMPTS = 3;

/** What a request ended in: a value, or a failure that the caller knew to expect. */
export type Answer<T> = { readonly value: T } | { readonly failure: S3Failure };

/** A bucket, and how to ask for things in it. */
export interface S3Connection {
  /** Bucket, prefix and server, for messages; holds no secret. */
  readonly place: string;
  readonly bucket: string;
  /** True for AWS itself, which has conditional writes everywhere. */
  readonly isAws: boolean;
  readonly encryption: S3EncryptionHeaders;
  /** Runs one request. Raises the catalogue's errors: see `s3Error`. */
  send<T>(request: (s3: S3) => Promise<T>): Promise<T>;
  /** The same, but failures that `expects` accepts are given back. */
  ask<T>(request: (s3: S3) => Promise<T>, expects: (failure: S3Failure) => boolean): Promise<Answer<T>>;
}

/** What a connection is made of. */
export interface S3ConnectionOptions {
  readonly settings: S3StoreSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeouts: S3Timeouts;
}

/** Makes a connection; nothing is loaded or sent yet. Raises `EnvironmentMissing` for an SSE-C key that is not there. */
export function s3Connection(options: S3ConnectionOptions): S3Connection {
  const { settings, env } = options;
  const place = placeOf(settings);
  let client: Promise<S3> | undefined;
  const ask: S3Connection['ask'] = async (request, expects) => {
    try {
      client ??= makeClient(options);
      return { value: await request(await client) };
    } catch (error) {
      const failure = failureOf(error);
      if (expects(failure)) return { failure };
      throw s3Error(place, error);
    }
  };
  return {
    place,
    bucket: settings.bucket,
    isAws: settings.endpoint === undefined,
    encryption: encryptionOf(settings.encryption, env),
    ask,
    async send(request) {
      const answer = await ask(request, () => false);
      if ('value' in answer) return answer.value;
      throw s3Error(place, new Error(answer.failure.message)); // never: nothing was expected
    },
  };
}

function placeOf({ bucket, prefix, endpoint, region }: S3StoreSettings): string {
  const path = prefix === undefined ? bucket : `${bucket}/${prefix}`;
  const server = endpoint === undefined ? (region ?? 'AWS') : endpoint.replace(/\/$/, '');
  return `S3 bucket ${path} at ${server}`;
}

async function makeClient(options: S3ConnectionOptions): Promise<S3> {
  const { S3: Client } = await import('@aws-sdk/client-s3');
  return new Client(clientConfig(options));
}

function clientConfig({ settings, env, timeouts }: S3ConnectionOptions): S3ClientConfig {
  const { endpoint } = settings;
  const fallback = endpoint === undefined ? undefined : 'us-east-1'; // others take any, and the SDK signs with one
  const region = settings.region ?? env['AWS_REGION'] ?? fallback;
  return {
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(env['AWS_ACCESS_KEY_ID'] && { credentials: async () => credentialsIn(env) }),
    forcePathStyle: settings.forcePathStyle ?? endpoint !== undefined,
    maxAttempts: MAX_ATTEMPTS,
    expectContinueHeader: false, // it takes a new connection for each part
    // We verify by SHA-256, and send it; other servers do not know the SDK's own checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: timeouts.connectMs,
      socketTimeout: timeouts.idleMs,
      requestTimeout: timeouts.requestMs,
      throwOnRequestTimeout: true,
    },
  };
}

/** The first place of AWS's own chain, which reads `process.env` alone; without these the chain is asked. */
async function credentialsIn(env: S3ConnectionOptions['env']): Promise<{
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}> {
  const sessionToken = env['AWS_SESSION_TOKEN'];
  return {
    accessKeyId: env['AWS_ACCESS_KEY_ID'] ?? '',
    secretAccessKey: env['AWS_SECRET_ACCESS_KEY'] ?? '',
    ...(sessionToken && { sessionToken }),
  };
}
