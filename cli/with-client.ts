// What commands that read or change the project need: its store, or its store and a Client, put away again in the end.
import type { Client } from '@temporalio/client';
import type { FileStore } from '../shared/file-store.ts';
import type { AttachmentKind, TemporalServer } from '../worker/dev-server.ts';
import type { CommandContext } from './command.ts';
import { connectClient } from './connect-client.ts';
import { connectProject, openProject, type Project, type ProjectOptions } from './project.ts';
import { openStore } from './store.ts';
import { reaching } from './temporal-faults.ts';

/** A project with its server. */
export interface ConnectedProject {
  readonly client: Client;
  readonly store: FileStore;
  readonly server: TemporalServer;
  readonly project: Project;
}

/** Does work with the project's store alone. */
export async function withProjectStore<T>(context: CommandContext, work: (store: FileStore) => Promise<T>): Promise<T> {
  const project = await openProject(context);
  return work(openStore(project.home, context.env, project.config));
}

/** Does work with the project's store and server, brought up if it is the embedded one. */
export async function withProjectClient<T>(
  context: CommandContext,
  work: (connected: ConnectedProject) => Promise<T>,
  { kind = 'read', ...options }: ProjectOptions & { readonly kind?: AttachmentKind } = {},
): Promise<T> {
  const project = await openProject(context, options);
  const server = await connectProject(project, kind, context);
  try {
    return await reaching(server, async () => {
      const client = await connectClient(server);
      try {
        const store = openStore(project.home, context.env, project.config, server.namespace);
        return await work({ client, store, server, project });
      } finally {
        await client.connection.close();
      }
    });
  } finally {
    await server.embedded?.release();
  }
}
