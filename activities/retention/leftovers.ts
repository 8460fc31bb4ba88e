// What sweeps that did not come to their end have left: notes and marks. One that cannot be read is told, and never in the way of
// later sweeps.
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { isObject } from '../../shared/json.ts';
import type { SweepProblem } from '../../shared/sweep.ts';
import { MARKS_FOLDER, putFreshMark, removeStaleMark } from '../store/intents.ts';
import { Context } from '@temporalio/activity';
import { removeNotes, SWEEPS_FOLDER } from './scratch.ts';
import type { TemporalView } from './temporal-view.ts';

const OWNER = '/owner';

/** Removes notes and marks of sweeps that ended before they were done; gives what could not be read. */
export async function removeLeftovers(
  store: FileStore,
  temporal: Pick<TemporalView, 'describe'>,
): Promise<readonly SweepProblem[]> {
  return [...(await removeOldNotes(store, temporal)), ...(await removeOldMarks(store))];
}

/** A sweep whose notes are taken away under its hands ends with an error and deletes nothing more: see `scratch.ts`. */
async function removeOldNotes(
  store: FileStore,
  temporal: Pick<TemporalView, 'describe'>,
): Promise<readonly SweepProblem[]> {
  const own = Context.current().info.workflowExecution?.workflowId;
  const problems: SweepProblem[] = [];
  for (const key of await Array.fromAsync(store.listObjects(SWEEPS_FOLDER))) {
    if (!key.endsWith(OWNER)) continue;
    const folder = key.slice(0, -OWNER.length);
    const owner = await ownerIn(store, key);
    if (owner === own) continue;
    if (owner === null) problems.push(unreadableOwner(key));
    else if ((await temporal.describe(owner)).status === 'open') continue;
    await removeNotes(store, folder);
  }
  return problems;
}

/** The sweep that keeps notes there; null where that cannot be told. */
async function ownerIn(store: FileStore, key: string): Promise<string | null> {
  try {
    const stored = await store.getObject(key);
    const owner: unknown = stored === null ? null : JSON.parse(new TextDecoder().decode(stored.body));
    const workflowId = isObject(owner) ? owner['workflowId'] : undefined;
    return typeof workflowId === 'string' && workflowId !== '' ? workflowId : null;
  } catch (error) {
    if (error instanceof SyntaxError || isCorrupt(error)) return null;
    throw error;
  }
}

/** A damaged mark is in the way of writers: whose it is cannot be told, so that it is made one that becomes stale in time. */
async function removeOldMarks(store: FileStore): Promise<readonly SweepProblem[]> {
  const problems: SweepProblem[] = [];
  for (const key of await Array.fromAsync(store.listObjects(MARKS_FOLDER))) {
    try {
      await removeStaleMark(store, key);
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      await putFreshMark(store, key);
      problems.push(unreadableMark(key));
    }
  }
  return problems;
}

function isCorrupt(error: unknown): boolean {
  return error instanceof LongshoreError && error.type === 'BlobCorrupt';
}

function unreadableOwner(key: string): SweepProblem {
  return {
    type: 'BlobCorrupt',
    message: `The note \`${key}\` does not say which sweep it is of; the notes beside it were removed`,
    mend: 'Nothing, if no other sweep ran: one that did ends with BlobMissing and deletes nothing more. Start it again then.',
  };
}

function unreadableMark(key: string): SweepProblem {
  return {
    type: 'BlobCorrupt',
    message: `The mark \`${key}\` of a sweep cannot be read; it was written anew`,
    mend: 'Nothing: a sweep in two minutes or later takes it away. Until then writers of that part of the store wait, and try again.',
  };
}
