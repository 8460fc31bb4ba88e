// The embedded Temporal server of a home: one server for all processes that use the home, brought up by the first,
// stopped after the last, whatever way they end.
import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from '@temporalio/client';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { listClaims, newToken } from './claims.ts';
import { startKeeper } from './keeper-process.ts';
import type { DevServerLease } from './lease.ts';
import { attachToClaim, reviveError } from './lease.ts';
import { namedPorts } from './ports.ts';
import type { AttachmentKind } from './protocol.ts';
import { prepareHome, type Home } from '../home.ts';
import { findTemporalCli } from '../temporal-cli.ts';

/** Who attaches, and whom to tell. */
export interface AttachOptions {
  readonly kind: AttachmentKind;
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** Added to the server's command line, when this process is the one that starts it. @default none */
  readonly extraArgs?: readonly string[];
  /** One line a remark. @default nobody is told */
  readonly log?: (line: string) => void;
}

/** The longest start, in milliseconds, once there is a Temporal CLI. */
const START_TIMEOUT_MS = 30_000;
const LOOK_AGAIN_MS = 50;

/**
 * Attaches to the home's embedded server, and starts it first when none runs.
 *
 * @throws `UsageInvalid` for a port that is none, also where a server runs; `TemporalCliMissing`; `PortTaken` for a port that `LONGSHORE_PORT` or `LONGSHORE_UI_PORT` names;
 * `HomeUnusable` for a full disk or a database that cannot be used, where no server runs yet; `TemporalUnavailable` after 30 s.
 */
export async function attachDevServer(home: Home, options: AttachOptions): Promise<DevServerLease> {
  const { env = process.env, log = () => {} } = options;
  namedPorts(env);
  const running = await attachToAny(home, options.kind, { timeoutMs: START_TIMEOUT_MS });
  if (running !== undefined) return running;

  // Nothing was written so far: who only reads needs no room on the disk while a server runs.
  await prepareHome(home);
  const cli = await findTemporalCli({ env, log });
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const ownToken = newToken();
    const report = await startKeeper(home, [ownToken, cli.path, ...(options.extraArgs ?? [])], env);
    if (report.type === 'failed') throw reviveError(report.error);
    const lease = await attachToAny(home, options.kind, { timeoutMs: deadline - Date.now(), ownToken });
    if (lease !== undefined) return lease;
    await delay(LOOK_AGAIN_MS);
  }
  throw new LongshoreError(
    'TemporalUnavailable',
    `The embedded Temporal server of ${home.folder} was not ready within ${START_TIMEOUT_MS / 1000} s.`,
    `Look into ${home.logsFolder}; then try again.`,
  );
}

/** Attaches to whichever keeper there is and comes to be ready; `undefined` when there is none (any more). */
async function attachToAny(
  home: Home,
  kind: AttachmentKind,
  { timeoutMs, ownToken }: { readonly timeoutMs: number; readonly ownToken?: string },
): Promise<DevServerLease | undefined> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    let someoneAnswered = false;
    for (const claim of await listClaims(home)) {
      const isOwn = claim.token === ownToken;
      const left = Math.max(0, deadline - Date.now());
      const attempt = await attachToClaim({ claim, kind, timeoutMs: left, isOwn });
      if (attempt.type === 'failed') throw attempt.error;
      if (attempt.type === 'attached' && (await answers(attempt.lease))) return attempt.lease;
      // A dead claim refuses; one that answered and is gone gave way or stopped, and another may have taken over.
      someoneAnswered ||= attempt.type === 'gone' && attempt.hadAnswered;
    }
    if (!someoneAnswered || Date.now() > deadline) return undefined;
  }
}

/** Whether Temporal answers at the lease's address; else the lease is released. */
async function answers(lease: DevServerLease): Promise<boolean> {
  try {
    const connection = await Connection.connect({ address: lease.address, connectTimeout: '10s' });
    await connection.close();
    return true;
  } catch (thrown) {
    const lost = await Promise.race([lease.lost, delay(500)]);
    await lease.release();
    // A server that ended while it was asked: its own failure says more, unless a snatched port may be chosen anew.
    if (lost !== undefined && lost.type !== 'PortTaken') throw lost;
    if (lost !== undefined) return false;
    throw new LongshoreError(
      'TemporalUnavailable',
      `The embedded Temporal server at ${lease.address} does not answer: ${messageOf(thrown)}.`,
      'Try again; if it stays so, end what uses the home, or set LONGSHORE_HOME to another folder.',
      { cause: thrown },
    );
  }
}
