// A Client for commands, on the project's Temporal server.
import { Client, Connection } from '@temporalio/client';
import type { TemporalServer } from '../worker/dev-server.ts';

/** Histories come in pages of up to 4 MB, gRPC's default limit for a message; some pages are larger. */
const MAX_RECEIVE_BYTES = 128 * 1024 * 1024;

/** Connects; close `client.connection` in the end. */
export async function connectClient(server: TemporalServer): Promise<Client & { readonly connection: Connection }> {
  const connection = await Connection.connect({
    ...server.connectionOptions,
    channelArgs: { 'grpc.max_receive_message_length': MAX_RECEIVE_BYTES },
  });
  // The cast holds: the Client keeps the very connection it was given.
  return new Client({ connection, namespace: server.namespace }) as Client & { readonly connection: Connection };
}
