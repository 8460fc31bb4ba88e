// A place where sweeps run without a server: their Activities in this process, over a local store in a temporary folder, a
// clock that the test turns, and a Temporal whose turns the test sets. It fails loudly where it is asked for more.
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createRetentionActivities } from '../../activities/retention/index.ts';
import type { TemporalView, TurnOrigin, TurnStanding } from '../../activities/retention/temporal-view.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { updateManifest } from '../../activities/store/manifest.ts';
import type { BlobRef, FileStore } from '../../shared/file-store.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import type { RetentionActivities, RetentionSweepResult, SweepProgress } from '../../shared/sweep.ts';
import { beginSweep, finishSweep, nextPage, type RunSweepActivity } from '../../workflows/sweep-stages.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A turn to put into the store. */
export interface PutTurn {
  readonly workflowId: string;
  readonly session?: string;
  /** Contents of its files; each stands under a path of its own. */
  readonly files?: readonly string[];
  /** How Temporal sees it. @default open and running */
  readonly standing?: TurnStanding;
  /** More of the manifest. */
  readonly manifest?: Partial<Manifest>;
  readonly file?: Partial<ManifestFile>;
}

/** How one sweep is run. */
export interface SweepRun {
  readonly dryRun?: boolean;
  readonly graceMs?: number;
  /** Called before each page; what it throws ends the sweep there. */
  readonly onPage?: (progress: SweepProgress) => Promise<void> | void;
  /** Where an earlier one got to. */
  readonly from?: SweepProgress;
}

/** The place. */
export interface SweepWorld {
  readonly folder: string;
  readonly store: FileStore;
  /** What the sweep takes for the time. */
  readonly clock: { now: number };
  /** Turns that Temporal knows, by id. */
  readonly temporal: Map<string, TurnStanding>;
  /** What the inputs of turns say, by id. @default a session of its own, and nothing before it */
  readonly origins: Map<string, TurnOrigin>;
  /** Open turns that the listing does not show yet. */
  readonly unlisted: Set<string>;
  /** Called before each write of an object and each listing; what it throws is the store's failure. */
  readonly before: { step: (what: 'put' | 'list', key: string) => Promise<void> };
  /** Temporal as sweeps ask it. */
  readonly view: TemporalView;
  /** Whether Temporal does not answer. */
  readonly away: { is: boolean };
  put(turn: PutTurn): Promise<readonly BlobRef[]>;
  /** A blob that nothing refers to, written at that time. */
  putOrphan(content: string, modifiedMs?: number): Promise<BlobRef>;
  sweep(run?: SweepRun): Promise<RetentionSweepResult>;
  /** All blobs and objects, for comparison. */
  contents(): Promise<readonly string[]>;
  readonly has: (ref: BlobRef | undefined) => Promise<boolean>;
  close(): Promise<void>;
}

/** An open turn, as Temporal sees it. */
export function open(more: { readonly isIdle?: boolean; readonly startedMs?: number } = {}): TurnStanding {
  return { status: 'open', isIdle: false, startedMs: Date.now() - HOUR, ...more };
}

/** A closed one. */
export function closed(closedMs: number, ended = 'completed'): TurnStanding {
  return { status: 'closed', closedMs, ended };
}

/** Where a turn's file of some content stands. */
export function pathOf(workflowId: string, content: string): string {
  return `/sandbox/tool-results/${workflowId}-${content.slice(0, 20).replaceAll(' ', '-')}.txt`;
}

/** Makes a place; close it when done. */
export async function createSweepWorld(): Promise<SweepWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-sweep-'));
  const before: SweepWorld['before'] = { step: async () => {} };
  const store = watched(createLocalStore({ folder, namespace: 'default' }), before);
  const clock = { now: Date.now() };
  const temporal = new Map<string, TurnStanding>();
  const origins = new Map<string, TurnOrigin>();
  const away = { is: false };
  const unlisted = new Set<string>();
  const view = fakeView({ temporal, origins, unlisted, away });
  const activities = createRetentionActivities({
    store,
    redact: (text) => text,
    retention: { now: () => clock.now, temporal: () => view },
  });
  return {
    folder,
    store,
    clock,
    temporal,
    origins,
    unlisted,
    before,
    view,
    away,
    put: async (turn) => putTurn(store, temporal, turn),
    async putOrphan(content, modifiedMs) {
      const ref = await store.putBlob(Buffer.from(content));
      if (modifiedMs !== undefined) await setModified(folder, ref.sha256, modifiedMs);
      return ref;
    },
    sweep: async (run = {}) => runSweep(activities, run),
    async contents() {
      const blobs = (await Array.fromAsync(store.listBlobs())).map(({ sha256, bytes }) => `blob ${sha256} ${bytes}`);
      const objects = [];
      for await (const key of store.listObjects('')) {
        objects.push(`${key} ${Buffer.from((await store.getObject(key))?.body ?? []).toString('utf8')}`);
      }
      return [...blobs.sort(), ...objects];
    },
    has: async (ref) => ref !== undefined && (await store.statBlob(ref.sha256)) !== null,
    close: async () => rm(folder, { recursive: true, force: true }),
  };
}

/** Sets when a blob of a local store was last written. */
export async function setModified(folder: string, sha256: string, ms: number): Promise<void> {
  await utimes(join(folder, 'default', 'blobs', sha256.slice(0, 2), sha256), ms / 1000, ms / 1000);
}

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Runs the stages as the Workflow does. */
export async function runSweep(activities: RetentionActivities, run: SweepRun): Promise<RetentionSweepResult> {
  const { onPage, from, ...input } = run;
  const execute: RunSweepActivity = ((name, value) => {
    // Of one name, so that input and Activity fit.
    const activity = activities[name] as (input: unknown) => Promise<unknown>;
    return new MockActivityEnvironment({}, { logger: quiet }).run<[unknown], unknown, typeof activity>(activity, value);
  }) as RunSweepActivity;
  let progress = from ?? (await beginSweep(input, execute));
  while (progress.stage !== 'finish') {
    await onPage?.(progress);
    progress = await nextPage(progress, execute);
  }
  return finishSweep(progress, execute);
}

function watched(store: FileStore, before: SweepWorld['before']): FileStore {
  return {
    ...store,
    async putObject(...given) {
      await before.step('put', given[0]);
      return store.putObject(...given);
    },
    async *listObjects(prefix) {
      await before.step('list', prefix);
      yield* store.listObjects(prefix);
    },
    async *listObjectTimes(prefix) {
      await before.step('list', prefix);
      yield* store.listObjectTimes?.(prefix) ?? [];
    },
  };
}

type FakeTemporal = Pick<SweepWorld, 'temporal' | 'origins' | 'unlisted' | 'away'>;

function fakeView({ temporal, origins, unlisted, away }: FakeTemporal): TemporalView {
  const check = (): void => {
    if (away.is) throw new LongshoreError('TemporalUnavailable', 'Temporal is away', 'Bring it back.');
  };
  return {
    describe: async (workflowId) => {
      check();
      return temporal.get(workflowId) ?? { status: 'gone' };
    },
    async *running() {
      check();
      for (const [workflowId, standing] of temporal) {
        if (standing.status === 'open' && !unlisted.has(workflowId))
          yield { workflowId, startedMs: standing.startedMs };
      }
    },
    originOf: async (workflowId) => {
      check();
      return origins.get(workflowId) ?? { session: workflowId, continues: null };
    },
    currentRun: async () => {
      throw new Error('sweeps do not ask for runs');
    },
  };
}

async function putTurn(
  store: FileStore,
  temporal: Map<string, TurnStanding>,
  { workflowId, session = workflowId, files = [], standing = open(), manifest = {}, file = {} }: PutTurn,
): Promise<readonly BlobRef[]> {
  const turn = { workflowId, session, turn: 1 };
  const refs: BlobRef[] = [];
  for (const content of files) refs.push(await store.putBlob(Buffer.from(content)));
  const now = Date.now();
  await updateManifest(store, turn, (current) => ({
    ...current,
    savedAt: now,
    ...manifest,
    files: files.map((content, index) => ({
      path: pathOf(workflowId, content),
      ...(refs[index] ?? { sha256: '', bytes: 0 }),
      mediaType: 'text/plain',
      state: 'pinned',
      callKey: `t1/0/${index}`,
      server: 'fs',
      tool: 'read',
      origin: workflowId,
      pinnedAt: now,
      ...file,
    })),
  }));
  temporal.set(workflowId, standing);
  return refs;
}
