// Checks of Temporal: the CLI to embed and the embedded server, or the server that the environment names.
import { Connection } from '@temporalio/client';

import type { AttachOptions, NamedServer } from '../../worker/dev-server.ts';
import { attachDevServer, requireReachable, SEARCH_ATTRIBUTES, TUNING } from '../../worker/dev-server.ts';
import { measurePacing } from '../../worker/dev-server/pacing.ts';
import type { Home } from '../../worker/home.ts';
import { findTemporalCli } from '../../worker/temporal-cli.ts';
import type { Finding } from './check.ts';
import { ok } from './check.ts';

/** Finds the Temporal CLI, and fetches it as a first run would. */
export async function checkCli(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<Finding> {
  const cli = await findTemporalCli({ env, log });
  return ok(`${cli.version}, ${cli.path} (${SOURCES[cli.source]})`);
}

const SOURCES = {
  env: 'named by LONGSHORE_TEMPORAL_CLI',
  path: 'on PATH',
  cache: 'in the cache',
  'sdk-download': "fetched now by the Temporal SDK's download",
  pypi: 'fetched now from PyPI',
} as const;

/** Brings the embedded server up, asks it for its version, and lets it go. */
export async function checkEmbedded(home: Home, options: AttachOptions): Promise<Finding> {
  const lease = await attachDevServer(home, options);
  try {
    const connection = await Connection.connect({ address: lease.address });
    const { serverVersion } = await connection.workflowService.getSystemInfo({});
    await connection.close();
    const others = await lease.workers();
    return ok(`Temporal ${serverVersion} starts on ${home.database}${others.length > 0 ? ', in use now' : ''}`);
  } finally {
    await lease.release();
  }
}

/** Whether a named server answers and has the namespace, and which Search Attributes it knows. */
export async function checkNamed(server: NamedServer): Promise<Finding> {
  await requireReachable(server);
  return withConnection(server, async (connection) => {
    await connection.workflowService.describeNamespace({ namespace: server.namespace });
    const where = `${server.connectionOptions.address}, namespace ${server.namespace} (named by ${server.setting})`;
    const missing = await missingSearchAttributes(connection, server.namespace);
    if (missing.length === 0) return ok(where);
    const flags = missing.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTES[name]}`);
    return {
      status: 'note',
      detail: `${where}; without the Search Attributes ${missing.join(', ')}, turns cannot be listed by them`,
      mend: flags.map((flag) => `temporal operator search-attribute create ${flag}`).join('; '),
    };
  });
}

/** Whether a named server paces each Workflow, by a probe Workflow of half a second. */
export async function checkPacing(server: NamedServer): Promise<Finding> {
  return withConnection(server, async (connection) => {
    const { msPerTask, isPaced } = await measurePacing(connection, server.namespace);
    const detail = `${msPerTask.toFixed(0)} ms from one Workflow Task to the next`;
    if (!isPaced) return ok(detail);
    return {
      status: 'note',
      detail: `${detail}: the server paces each Workflow at some ${Math.round(1000 / msPerTask)} a second`,
      mend: `If it is a dev server, start it with ${TUNING.join(' ')}`,
    };
  });
}

async function missingSearchAttributes(connection: Connection, namespace: string): Promise<readonly string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(SEARCH_ATTRIBUTES).filter((name) => !Object.hasOwn(customAttributes, name));
}

async function withConnection(
  server: NamedServer,
  work: (connection: Connection) => Promise<Finding>,
): Promise<Finding> {
  const connection = await Connection.connect({ ...server.connectionOptions, connectTimeout: 8_000 });
  try {
    return await connection.withDeadline(Date.now() + 15_000, async () => work(connection));
  } finally {
    await connection.close();
  }
}
