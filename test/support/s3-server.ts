// A real S3 server for tests, started on a free port over a folder of its own, or the one that LONGSHORE_TEST_S3_ENDPOINT
// names (with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and LONGSHORE_TEST_S3_BUCKET, which must be there).
import { S3 } from '@aws-sdk/client-s3';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Store, type S3Store, type S3StoreOptions } from '../../activities/store/s3.ts';
import type { S3StoreSettings } from '../../shared/store-settings.ts';
import { freePort } from './crash-port.ts';
import { temporaryFolder, until } from './process.ts';
import { findS3Program, type S3Program } from './versitygw.ts';

/** A running server, and a bucket on it. */
export interface S3TestServer {
  readonly name: string;
  readonly endpoint: string;
  readonly bucket: string;
  /** The credentials, as environment. */
  readonly env: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
  /** To do things behind the store's back. */
  readonly client: S3;
  /** Settings with a prefix that nobody else has. */
  settings(more?: Partial<S3StoreSettings>): S3StoreSettings;
  store(settings: S3StoreSettings, more?: Partial<S3StoreOptions>): S3Store;
  /** Ends the process as `kill -9` does; `restart` brings it back with what it had. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server and says which. Making it the first time takes minutes. */
export async function startS3Server(): Promise<S3TestServer> {
  const named = process.env['LONGSHORE_TEST_S3_ENDPOINT'];
  const server = named ? namedServer(named) : await startProgram();
  process.stderr.write(`S3 tests run on ${server.name}\n`);
  return server;
}

function namedServer(endpoint: string): S3TestServer {
  const bucket = process.env['LONGSHORE_TEST_S3_BUCKET'] ?? 'longshore-test';
  const env = {
    AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
    AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
  };
  const cannot = async (): Promise<void> => {
    throw new Error('the server named by LONGSHORE_TEST_S3_ENDPOINT cannot be ended by tests');
  };
  return {
    ...access({ endpoint, bucket, env }),
    name: `the server at ${endpoint}`,
    kill: cannot,
    restart: cannot,
    stop: async () => {},
  };
}

async function startProgram(): Promise<S3TestServer> {
  const program = await findS3Program((line) => process.stderr.write(`${line}\n`));
  const folder = await temporaryFolder();
  const port = await freePort();
  const env = { AWS_ACCESS_KEY_ID: `KEY${randomBytes(8).toString('hex')}`, AWS_SECRET_ACCESS_KEY: randomUUID() };
  const bucket = 'files';
  await mkdir(join(folder.path, bucket));
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(program.path, argumentsOf(program, folder.path, port), {
      env: { ...process.env, ROOT_ACCESS_KEY: env.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: env.AWS_SECRET_ACCESS_KEY },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    await until(`${program.name} answers`, async () => {
      if (child.exitCode !== null) throw new Error(`${program.name} ended with ${child.exitCode}`);
      return fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      );
    });
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const server = access({ endpoint: `http://127.0.0.1:${port}`, bucket, env });
  if (program.kind === 'moto') await server.client.createBucket({ Bucket: bucket });
  return {
    ...server,
    name: program.name,
    kill,
    restart: async () => {
      child = await start();
    },
    stop: async () => {
      server.client.destroy();
      await kill();
      await folder.remove();
    },
  };
}

function argumentsOf({ kind }: S3Program, folder: string, port: number): readonly string[] {
  if (kind === 'moto') return ['-H', '127.0.0.1', '-p', String(port)];
  return ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', 'posix', folder];
}

function access({
  endpoint,
  bucket,
  env,
}: Pick<S3TestServer, 'endpoint' | 'bucket' | 'env'>): Omit<S3TestServer, 'name' | 'kill' | 'restart' | 'stop'> {
  const client = new S3({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY },
  });
  return {
    endpoint,
    bucket,
    env,
    client,
    settings: (more) => ({ type: 's3', endpoint, bucket, prefix: `test-${randomUUID()}`, ...more }),
    store: (settings, more) => createS3Store({ settings, namespace: 'default', env, ...more }),
  };
}
