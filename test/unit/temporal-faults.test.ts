// Errors of the Temporal SDK that mean "no server answers", told from all others.
import { ServiceError } from '@temporalio/client';
import { TransportError } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';

import { asLongshoreError } from '../../cli/failure.ts';
import { reaching } from '../../cli/temporal-faults.ts';
import { LongshoreError } from '../../shared/errors.ts';

const server = { connectionOptions: { address: '127.0.0.1:7' }, namespace: 'default', embedded: null };
const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(`${code}: ${details}`), { code, details });

const LOST: Readonly<Record<string, Error>> = {
  'a native connection': new TransportError('tonic::transport::Error(Transport, ConnectError)'),
  'a Worker that is made': new TransportError('Namespace default was not found …: Status { code: Unavailable }'),
  'a client call': new ServiceError('Failed to describe workflow', { cause: grpc(14, 'Connection dropped') }),
  'a client call that takes too long': new ServiceError('Failed', { cause: grpc(4, 'Deadline exceeded') }),
  'gRPC itself': grpc(14, 'No connection established'),
  'a wrapped one': new Error('outer', { cause: grpc(14, 'gone') }),
};

describe('a lost connection', () => {
  it.each(Object.entries(LOST))('of %s is TemporalUnavailable, exit code 3, with the address', async (_name, error) => {
    expect(asLongshoreError(error)).toMatchObject({ type: 'TemporalUnavailable', exitCode: 3 });
    const told = await reaching(server, async () => Promise.reject(error)).catch((thrown: unknown) => thrown);
    expect(told).toMatchObject({ type: 'TemporalUnavailable', cause: error });
    expect(String(told)).toContain('127.0.0.1:7');
  });

  it('is not what other errors are', async () => {
    const others = [
      new ServiceError('Failed', { cause: grpc(5, 'not found') }),
      Object.assign(new Error('no such file'), { code: 'ENOENT' }),
      Object.assign(new Error('a code of something else'), { code: 14 }),
    ];
    for (const error of others) expect(asLongshoreError(error).type).toBe('Internal');
    const own = new LongshoreError('TurnNotFound', 'none', 'List them.');
    await expect(reaching(server, async () => Promise.reject(own))).rejects.toBe(own);
  });
});
