// Decides on one call from outside the process that waits, as a bot or a web page would, through `longshore/client`: the report
// may be written, nothing else. `node approver.ts ID FOLDER`; Temporal's own variables name the server.
import { resolve, sep } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { approve, deny, getApproval, type Approval } from '../../client/index.ts';

const [id = '', folder = ''] = process.argv.slice(2);
const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, namespace });

const approval = await getApproval(client, id);
// Bound to what was looked at: should the call change meanwhile, the decision is refused.
const { digest } = approval;
const approver = 'examples/main-job/approver.ts';
const isAllowed = isReport(approval);
const decision = isAllowed
  ? await approve(client, id, { digest, approver, reason: 'a report, in its folder' })
  : await deny(client, id, {
      digest,
      approver,
      reason: 'only reports are written here, and nobody is there to be asked',
    });
console.log(
  `A second process looked at ${approval.callKey}, ${approval.server}.${approval.tool}: ${decision.decision}.`,
);
await connection.close();

/** Whether a call writes into the folder for reports. */
function isReport({ kind, server, tool, arguments: args }: Approval): boolean {
  const path = args['path'];
  if (kind !== 'approval' || server !== 'fs' || tool !== 'write_file' || typeof path !== 'string') return false;
  return resolve(path).startsWith(`${resolve(folder)}${sep}`);
}
