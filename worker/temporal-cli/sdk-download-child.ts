// The child process of `sdk-download.ts`: makes the SDK download a Temporal CLI into the folder given.
import { createRequire } from 'node:module';

import { Runtime } from '@temporalio/worker';

import { messageOf } from '../../shared/errors.ts';

/** Where the SDK downloads from. Source: the SDK's core, `sdk-core/…/ephemeral_server`. */
const DOWNLOAD_HOST = 'https://temporal.download';
/** How long the host may take to answer at all, in milliseconds. */
const PROBE_TIMEOUT_MS = 4_000;

const [, , folder] = process.argv;
try {
  if (folder === undefined) throw new Error('needs the folder to download into');
  await probe();
  await download(folder);
  process.exit(0);
} catch (thrown) {
  // One line: the parent shows the last line of what is printed here.
  process.stderr.write(`${messageOf(thrown).replaceAll('\n', ' ')}\n`);
  process.exit(1);
}

async function probe(): Promise<void> {
  try {
    await fetch(DOWNLOAD_HOST, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  } catch (thrown) {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    throw new Error(`${DOWNLOAD_HOST} cannot be reached (${messageOf(cause)})`, { cause: thrown });
  }
}

async function download(downloadDir: string): Promise<void> {
  const runtime = Runtime.instance();
  const server = await runtime.createEphemeralServer({
    type: 'dev-server',
    exe: {
      type: 'cached-download',
      downloadDir,
      version: 'default',
      ttl: 86_400_000,
      sdkName: 'sdk-typescript',
      sdkVersion: sdkVersion(),
    },
    ip: '127.0.0.1',
    port: null,
    ui: false,
    uiPort: null,
    namespace: 'default',
    dbFilename: null,
    log: { format: 'pretty', level: 'error' },
    extraArgs: [],
  });
  await runtime.shutdownEphemeralServer(server);
}

function sdkVersion(): string {
  // The package's own description always has a version.
  return (createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string }).version;
}
