// A process that attaches to the embedded server of LONGSHORE_HOME, prints where it is as one JSON line, and holds on
// until its standard input ends. Exits 3 with the error's type and message when it cannot attach or loses the server.
import { once } from 'node:events';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { AttachmentKind } from '../../worker/dev-server.ts';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';

try {
  const home = await openHome();
  // The test gives one of the kinds.
  const lease = await attachDevServer(home, { kind: process.argv[2] as AttachmentKind });
  lease.announceWorker({ taskQueue: `queue-${process.pid}`, fingerprint: 'test' });
  const others = await lease.workers();
  const { address, uiUrl } = lease;
  process.stdout.write(`${JSON.stringify({ pid: process.pid, address, uiUrl, others })}\n`);
  process.stdin.resume();
  const lost = await Promise.race([lease.lost, once(process.stdin, 'end').then(() => null)]);
  if (lost !== null) throw lost;
  await lease.release();
  process.exit(0);
} catch (thrown) {
  const type = thrown instanceof LongshoreError ? thrown.type : 'Error';
  process.stderr.write(`${type}: ${messageOf(thrown)}\n`);
  process.exit(3);
}
