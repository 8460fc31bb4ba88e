// What agents are asked to do with real catalogs: words to search by, the tool that does it, and its arguments.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../shared/json.ts';
import { apiFile, type ApiName } from './api-catalogs.ts';

/** A catalog that is measured; `notes` has 4 tools. */
export type CatalogName = ApiName | 'notes';

/** One task: one call does it. */
export interface CatalogTask {
  readonly query: string;
  /** By the name that the server gives it. */
  readonly tool: string;
  readonly input: JsonObject;
}

const ec2 = (Action: string, input: JsonObject = {}): JsonObject => ({ Action, Version: '2016-11-15', ...input });

/** The tasks of each catalog. */
export const CATALOG_TASKS: Readonly<Record<CatalogName, readonly CatalogTask[]>> = {
  notes: [{ query: 'read a note', tool: 'get-note', input: { id: 'n1' } }],
  slack: [
    {
      query: 'send a message to a channel',
      tool: 'chat-pst-message',
      input: { token: 'none', channel: 'C1', text: 'Hello' },
    },
    { query: 'list the members of a channel', tool: 'conversations-members', input: { channel: 'C1' } },
    { query: 'set a reminder', tool: 'reminders-add', input: { token: 'none', text: 'Tea', time: '1700000000' } },
  ],
  stripe: [
    { query: 'refund a charge', tool: 'pst-charges-charge-refund', input: { charge: 'ch_1' } },
    { query: 'list invoices', tool: 'get-invoices', input: { limit: 3 } },
    { query: 'create a customer', tool: 'pst-customers', input: { email: 'a@example.org' } },
  ],
  ec2: [
    {
      query: 'create a security group',
      tool: 'get-crt-security-grp',
      input: ec2('CreateSecurityGroup', { GroupDescription: 'Web', GroupName: 'web' }),
    },
    { query: 'allocate an elastic ip address', tool: 'get-allocate-address', input: ec2('AllocateAddress') },
    {
      query: 'terminate an instance',
      tool: 'get-terminate-instances',
      input: ec2('TerminateInstances', { InstanceId: [{ InstanceId: 'i-1' }] }),
    },
  ],
  kubernetes: [
    {
      query: 'read the log of a pod',
      tool: 'read-core-v1-namespaced-pod-log',
      input: { name: 'web-1', namespace: 'default' },
    },
    { query: 'list nodes', tool: 'lst-core-v1-node', input: { limit: 5 } },
    { query: 'delete a namespace', tool: 'del-core-v1-namespace', input: { name: 'old' } },
  ],
};

/** The API description of a catalog; that of the small one is written into `folder`. */
export async function descriptionOf(catalog: CatalogName, folder: string): Promise<string> {
  if (catalog !== 'notes') return apiFile(catalog);
  const path = join(folder, 'notes.json');
  await writeFile(path, JSON.stringify(notes()));
  return path;
}

function notes(): object {
  const text = { type: 'string' };
  const responses = { 200: { description: 'Done' } };
  const id = { name: 'id', in: 'path', required: true, schema: text, description: 'The id of the note.' };
  const body = { type: 'object', properties: { title: text, text }, required: ['text'] };
  const requestBody = { required: true, content: { 'application/json': { schema: body } } };
  const operation = (operationId: string, summary: string, more: object = {}): object => ({
    operationId,
    summary,
    responses,
    ...more,
  });
  const one = { parameters: [id] };
  return {
    openapi: '3.0.0',
    info: { title: 'Notes', version: '1' },
    paths: {
      '/notes': {
        get: operation('list-notes', 'Lists all notes by title.'),
        post: operation('create-note', 'Writes a new note.', { requestBody }),
      },
      '/notes/{id}': {
        get: operation('get-note', 'Reads one note whole.', one),
        delete: operation('delete-note', 'Deletes one note for good.', one),
      },
    },
  };
}
