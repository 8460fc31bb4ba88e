// What `files hold`, `files unhold` and `files purge` do.
import { randomUUID } from 'node:crypto';
import { defaultApprover } from '../client/decide.ts';
import { deleteExecutions, turnsOfSession, type PurgedExecutions } from '../client/purge.ts';
import { sha256Hex } from '../shared/digest.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import { describeTarget, type HoldTarget } from '../shared/holds.ts';
import {
  findFile,
  listManifests,
  planPurge,
  purgeStore,
  turnsSince,
  putHold,
  removeHold,
  temporalView,
  type PurgeContext,
  type PurgedStore,
} from '../worker/files.ts';
import type { CommandContext } from './command.ts';
import { withProjectClient, withProjectStore } from './with-client.ts';

/** What a hold is on, as the command line says it. */
export interface TargetOptions {
  readonly turn?: string;
  readonly session?: string;
}

/** Options of `files hold`. */
export interface HoldOptions extends TargetOptions {
  readonly reason?: string;
  readonly as?: string;
}

/** Sets a hold. Raises `UsageInvalid`, `FileNotFound`, `TurnNotFound`. */
export async function holdFiles(
  path: string | undefined,
  options: HoldOptions,
  context: CommandContext,
): Promise<void> {
  const target = targetOf(path, options);
  await withProjectStore(context, async (store) => {
    const { reason, as } = options;
    const by = as ?? defaultApprover();
    await putHold(store, { version: 1, target, by, since: Date.now(), ...(reason !== undefined && { reason }) });
    // Looked for after the hold is there: a sweep that comes between sees it.
    const found = await countHeld(store, target);
    if (found.live === 0) {
      await removeHold(store, target);
      throw nothingToHold(target, found.deleted);
    }
    const { output } = context;
    if (output.isJson) return output.json({ target, by, reason: reason ?? null, files: found.live });
    output.line(
      `Held: ${describeTarget(target)} (${found.live} ${found.live === 1 ? 'file' : 'files and turns'}), by ${by}.`,
    );
  });
}

/** Takes a hold away. Raises `FileNotFound` where there is none. */
export async function unholdFiles(
  path: string | undefined,
  options: TargetOptions,
  context: CommandContext,
): Promise<void> {
  const target = targetOf(path, options);
  await withProjectStore(context, async (store) => {
    if (!(await removeHold(store, target))) {
      const mend = 'See what is held with `longshore files list`.';
      throw new LongshoreError('FileNotFound', `There is no hold on ${describeTarget(target)}`, mend);
    }
    const { output } = context;
    if (output.isJson) return output.json({ target, held: false });
    output.line(`No longer held: ${describeTarget(target)}.`);
  });
}

/** What went, as `files purge --json` prints it. */
export interface PurgeReceipt extends PurgedStore {
  /** The object in the store that keeps the counts, without names. */
  readonly receipt: string;
  readonly session: string;
  /** ISO 8601. */
  readonly purgedAt: string;
  readonly temporal: PurgedExecutions;
  /** Turns that came into the session, or went on from one of it, meanwhile: what they keep is left. */
  readonly turnsSince: readonly string[];
}

/** Deletes all of a session. Exit code 1 where something of it is left. */
export async function purgeSession(
  { session, yes = false }: { readonly session: string; readonly yes?: boolean },
  context: CommandContext,
): Promise<number> {
  const { output } = context;
  return withProjectClient(context, async ({ client, store }) => {
    const listed = await turnsOfSession(client, session);
    const now = Date.now();
    const purge: PurgeContext = { store, temporal: temporalView(client), session, listed, nowMs: now };
    const plan = await planPurge(purge);
    if (!yes) throw notConfirmed(session, plan.turns.length);
    const done = await purgeStore(purge, plan);
    const temporal = await deleteExecutions(client, plan.turns);
    // Looked for last: a turn that begins after this finds that what it goes on from is gone.
    const since = await turnsSince(purge, plan);
    const receipt = await keepReceipt(store, { session, now, done, temporal, since });
    const purgedAt = new Date(now).toISOString();
    const document: PurgeReceipt = { receipt, session, purgedAt, ...done, temporal, turnsSince: since };
    if (output.isJson) output.json(document);
    else for (const line of receiptLines(document)) output.line(line);
    return temporal.notDeleted.length + done.blobsLeft + since.length > 0 ? 1 : 0;
  });
}

interface Purge {
  readonly session: string;
  readonly now: number;
  readonly done: PurgedStore;
  readonly temporal: PurgedExecutions;
  readonly since: readonly string[];
}

/** Counts, and the session's hash: who knows its name can find the receipt, and nobody can read the name in it. */
async function keepReceipt(store: FileStore, { session, now, done, temporal, since }: Purge): Promise<string> {
  const key = `receipts/purge-${randomUUID()}`;
  const { turns, ...counts } = done;
  const body = {
    version: 1,
    sessionSha256: sha256Hex(session),
    purgedAt: new Date(now).toISOString(),
    turns: turns.length,
    files: turns.reduce((sum, { files }) => sum + files.length, 0),
    transcripts: turns.filter(({ transcript }) => transcript !== null).length,
    ...counts,
    executionsDeleted: temporal.deleted.length,
    executionsNotDeleted: temporal.notDeleted.length,
    turnsSince: since.length,
  };
  await store.putObject(key, new TextEncoder().encode(JSON.stringify(body)));
  return key;
}

function receiptLines(receipt: PurgeReceipt): readonly string[] {
  const { session, turns, temporal, blobsShared, blobsLeft, turnsSince: since } = receipt;
  return [
    `Purged session ${session}:`,
    ...turns.flatMap(({ workflowId, files, transcript }) => [
      `  turn ${workflowId}: ${files.length} files${transcript === null ? '' : ', the transcript'}`,
      ...files.map(({ path, bytes }) => `    ${path} (${bytes} bytes)`),
    ]),
    `  ${receipt.blobsDeleted} blobs of ${receipt.bytesDeleted} bytes, ${receipt.journalsDeleted} journal entries, ${receipt.tombstonesDeleted} tombstones`,
    `  ${temporal.deleted.length} executions in Temporal`,
    ...temporal.notDeleted.map(
      ({ workflowId, runId, reason }) => `  NOT deleted in Temporal: ${workflowId} ${runId}: ${reason}`,
    ),
    ...since.map(
      (id) => `  NOT purged: turn ${id}, which began meanwhile: end it (longshore turns cancel ${id}), and purge again`,
    ),
    ...(blobsShared > 0 ? [`  ${blobsShared} blobs stay: other sessions refer to them`] : []),
    ...(blobsLeft > 0
      ? [
          `  NOT deleted yet: ${blobsLeft} blobs that a running turn of another session may use; a later sweep deletes them`,
        ]
      : []),
    `Receipt: ${receipt.receipt}`,
  ];
}

function targetOf(path: string | undefined, { turn, session }: TargetOptions): HoldTarget {
  const given = [
    ...(path === undefined ? [] : [{ type: 'path', path } as const]),
    ...(turn === undefined ? [] : [{ type: 'turn', workflowId: turn } as const]),
    ...(session === undefined ? [] : [{ type: 'session', session } as const]),
  ];
  const [target, ...more] = given;
  if (target && more.length === 0) return target;
  throw new LongshoreError(
    'UsageInvalid',
    `A hold is on one thing; ${given.length === 0 ? 'nothing was named' : 'several were named'}`,
    'Give a path, or --turn ID, or --session ID.',
  );
}

/** Turns and files that a target covers, and how many of its files are gone. */
async function countHeld(
  store: FileStore,
  target: HoldTarget,
): Promise<{ readonly live: number; readonly deleted: number }> {
  if (target.type === 'path') {
    const found = await findFile(store, target.path);
    const live = found.filter(({ file }) => file.state !== 'deleted').length;
    return { live, deleted: found.length - live };
  }
  let live = 0;
  let deleted = 0;
  for await (const { turn, files } of listManifests(store, { onUnreadable: () => {} })) {
    const isMeant = target.type === 'turn' ? turn.workflowId === target.workflowId : turn.session === target.session;
    if (!isMeant) continue;
    const gone = files.filter((file) => file.state === 'deleted').length;
    deleted += gone;
    live += 1 + files.length - gone;
  }
  return { live, deleted };
}

function nothingToHold(target: HoldTarget, deleted: number): LongshoreError {
  const type = target.type === 'path' ? 'FileNotFound' : 'TurnNotFound';
  const what = deleted > 0 ? 'was deleted already' : 'is not known to the file store';
  const mend = 'See what there is with `longshore files list`.';
  return new LongshoreError(type, `${describeTarget(target)} ${what}, so that there is nothing to hold`, mend);
}

function notConfirmed(session: string, turns: number): LongshoreError {
  return new LongshoreError(
    'UsageInvalid',
    `This would delete all of session \`${session}\` for good: ${turns} ${turns === 1 ? 'turn' : 'turns'} with files and transcripts`,
    'Add --yes to do it.',
  );
}
