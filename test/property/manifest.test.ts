// Results, pauses, retries, resets, ends, turns that continue, and sweeps, in every order: at no instant does a path that is in
// somebody's context lead to nothing, and no bytes are kept that nobody needs.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  answeringFile,
  endTurn,
  enterRun,
  inheritFiles,
  pinFiles,
  saveHead,
  settleStaged,
  stageFile,
  unheldBlobs,
  type AddedFile,
  type NewFile,
} from '../../activities/store/manifest-changes.ts';
import { resultPath } from '../../shared/call-key.ts';
import type { Manifest } from '../../shared/manifest.ts';
import { releaseManifest } from '../../shared/retention-verdict.ts';

/** A turn as the model of this test has it: its manifest, and what its context names. */
interface Turn {
  manifest: Manifest;
  /** Paths by the step whose commit brought them into the context. */
  context: { readonly step: number; readonly path: string }[];
  step: number;
  run: number;
  isOpen: boolean;
  generations: Map<string, number>;
}

type Act =
  | { readonly type: 'step'; readonly contents: readonly number[]; readonly waits: boolean; readonly twice: boolean }
  | { readonly type: 'retry'; readonly call: number; readonly content: number; readonly ok: boolean }
  | { readonly type: 'reset'; readonly step: number }
  | { readonly type: 'end' | 'continue' | 'release' | 'sweep' };

const content = fc.integer({ min: 0, max: 3 });
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    type: fc.constant('step' as const),
    contents: fc.array(content, { minLength: 1, maxLength: 3 }),
    waits: fc.boolean(),
    twice: fc.boolean(),
  }),
  fc.record({ type: fc.constant('retry' as const), call: fc.nat(9), content, ok: fc.boolean() }),
  fc.record({ type: fc.constant('reset' as const), step: fc.nat(4) }),
  fc.constantFrom<Act>({ type: 'end' }, { type: 'continue' }, { type: 'release' }, { type: 'sweep' }),
);

class World {
  readonly turns: Turn[] = [begin(1)];
  readonly blobs = new Set<string>();
  private now = 0;

  get turn(): Turn {
    const turn = this.turns.at(-1);
    if (!turn) throw new Error('there is always a turn');
    return turn;
  }

  perform(one: Act): void {
    this.now += 1;
    switch (one.type) {
      case 'step':
        return this.makeStep(one);
      case 'retry':
        return this.retry(one);
      case 'reset':
        return this.reset(one.step);
      case 'end':
        this.turn.isOpen = false;
        return this.write((manifest) => endTurn(saveHead(manifest, null, [], this.now), 'completed', this.now));
      case 'continue':
        return this.goOn();
      case 'release':
        return this.release();
      case 'sweep':
        return this.sweep();
    }
  }

  /** Paths that some turn's context names and that nothing answers for; a closed turn counts until its sweep. */
  faults(): readonly string[] {
    const counting = this.turns.filter(
      ({ manifest, isOpen }) => isOpen || manifest.files.some((file) => file.state === 'pinned'),
    );
    return counting.flatMap(({ manifest, context, isOpen }) =>
      context.flatMap(({ path }) => {
        const entry = manifest.files.find((file) => file.path === path);
        const answer = entry && answeringFile(manifest, entry);
        const isThere = answer && this.blobs.has(answer.sha256) && (!isOpen || answer.state === 'pinned');
        return isThere ? [] : [`${manifest.turn.workflowId}: ${path} (${answer?.state ?? 'unknown'})`];
      }),
    );
  }

  private makeStep({ contents, waits, twice }: Extract<Act, { type: 'step' }>): void {
    const { turn } = this;
    if (!turn.isOpen) return;
    const files = contents.map((letter, index) => this.fileOf(turn, { step: turn.step, index, letter, generation: 0 }));
    if (waits) {
      this.write((manifest) => {
        const staged = files.reduce((next, file) => stageFile(next, file, this.at()), manifest);
        return saveHead(staged, null, unheldBlobs(staged, files), this.now);
      });
      this.sweep();
    }
    // The last file stands inline, under no path.
    const placed = files.slice(0, Math.max(1, files.length - 1));
    const commit = (manifest: Manifest): Manifest => {
      const pinned = pinFiles(
        manifest,
        placed.map((file) => ({ file, supersedes: true })),
        this.at(),
      );
      return saveHead(settleStaged(pinned, new Set(files.map((file) => file.callKey))), null, [], this.now);
    };
    this.write(commit);
    if (twice) this.write(commit);
    turn.context.push(...placed.map(({ path }) => ({ step: turn.step, path })));
    turn.step += 1;
  }

  private retry({ call, content: letter, ok }: Extract<Act, { type: 'retry' }>): void {
    const { turn } = this;
    const known = turn.context.filter((one) => ownKey(turn, one.path) !== null);
    const which = known[call % Math.max(1, known.length)];
    if (!turn.isOpen || !which) return;
    const key = ownKey(turn, which.path) ?? '';
    const [, step = 0, index = 0] = key.slice(1).split('/').map(Number);
    const generation = (turn.generations.get(key) ?? 0) + 1;
    turn.generations.set(key, generation);
    const file = this.fileOf(turn, { step, index, letter, generation });
    this.write((manifest) => pinFiles(manifest, [{ file, supersedes: ok }], this.at()));
    turn.context.push({ step: turn.step, path: file.path });
  }

  /** Nothing tells the store: the run's next Activity finds out. */
  private reset(wanted: number): void {
    const { turn } = this;
    const step = Math.min(wanted, turn.step);
    turn.isOpen = true;
    turn.run += 1;
    turn.step = step;
    turn.context = turn.context.filter((one) => one.step < step);
    turn.generations = new Map();
    this.write((manifest) => enterRun(manifest, step, this.at()));
  }

  private goOn(): void {
    const before = this.turn;
    if (before.isOpen) return;
    const next = begin(this.turns.length + 1);
    // Its files may be gone for good by now: then it is told so, and its context names them no more.
    const kept = before.context.filter(({ path }) => {
      const entry = before.manifest.files.find((file) => file.path === path);
      const answer = entry && answeringFile(before.manifest, entry);
      return answer && answer.state !== 'deleted';
    });
    next.context = kept.map(({ path }) => ({ step: -1, path }));
    this.turns.push(next);
    this.write((manifest) => inheritFiles(manifest, before.manifest.files));
  }

  private release(): void {
    for (const turn of this.turns) {
      if (!turn.isOpen) turn.manifest = releaseManifest(turn.manifest, { ended: 'completed', endedAt: this.now });
    }
  }

  /** Releases closed turns, deletes what no manifest needs: superseded and deleted entries need nothing. Retention is nought. */
  private sweep(): void {
    this.release();
    const needed = new Set(
      this.turns.flatMap(({ manifest, isOpen }) =>
        [
          ...(manifest.refs ?? []),
          ...manifest.files.filter(
            ({ state }) => state === 'pinned' || state === 'staged' || (isOpen && state === 'released'),
          ),
        ].map(({ sha256 }) => sha256),
      ),
    );
    for (const turn of this.turns.filter(({ isOpen }) => !isOpen)) {
      const files = turn.manifest.files.map((file) =>
        file.state === 'released' ? { ...file, state: 'deleted' as const } : file,
      );
      turn.manifest = { ...turn.manifest, files };
      turn.context = [];
    }
    for (const blob of this.blobs) if (!needed.has(blob)) this.blobs.delete(blob);
  }

  private fileOf(
    { manifest }: Turn,
    { step, index, letter, generation }: { step: number; index: number; letter: number; generation: number },
  ): NewFile {
    const callKey = `t${manifest.turn.turn}/${step}/${index}`;
    const sha256 = String(letter).repeat(64);
    this.blobs.add(sha256);
    const made = { callKey, server: 'fs', tool: 'read', origin: manifest.turn.workflowId, generation };
    return {
      path: resultPath({ ...made, sha256, extension: 'txt' }),
      sha256,
      bytes: 1,
      mediaType: 'text/plain',
      ...made,
    };
  }

  private at(): { readonly run: string; readonly now: number } {
    return { run: `run ${this.turn.run}`, now: this.now };
  }

  private write(change: (manifest: Manifest) => Manifest): void {
    this.turn.manifest = change(this.turn.manifest);
  }
}

function begin(ordinal: number): Turn {
  const turn = { workflowId: `turn ${ordinal}`, session: 's', turn: ordinal };
  const manifest: Manifest = { version: 1, turn, head: null, run: 'run 1', files: [] };
  return { manifest, context: [], step: 0, run: 1, isOpen: true, generations: new Map() };
}

function ownKey({ manifest }: Turn, path: string): string | null {
  const file = manifest.files.find((one) => one.path === path && one.origin === manifest.turn.workflowId);
  return file?.callKey ?? null;
}

it('[FILE-17] at no instant does a path in context lead to nothing, whatever is done in whatever order', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 25 }), (acts) => {
      const world = new World();
      for (const one of acts) {
        world.perform(one);
        expect(world.faults()).toEqual([]);
      }
    }),
    { numRuns: 2_000 },
  );
});

it('[FILE-17] files pinned in one change are as if pinned one after the other', () => {
  const file = fc.record({
    step: fc.nat({ max: 1 }),
    index: fc.nat({ max: 1 }),
    letter: fc.constantFrom('a', 'b', 'c', 'd'),
    block: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    generation: fc.nat({ max: 2 }),
  });
  const added = fc.array(fc.record({ file, supersedes: fc.boolean() }), { maxLength: 12 });
  fc.assert(
    fc.property(added, added, (before, after) => {
      const turn = begin(0);
      const newFiles = (list: typeof before): readonly AddedFile[] =>
        list.map(({ file: { step, index, letter, block, generation }, supersedes }) => {
          const callKey = `t1/${step}/${index}`;
          const sha256 = letter.repeat(64);
          const path = resultPath({ callKey, tool: 'read', sha256, extension: 'json', ...(block && { block }) });
          const made = { callKey, server: 'fs', tool: 'read', origin: turn.manifest.turn.workflowId, generation };
          return { file: { path, sha256, bytes: 5, mediaType: 'application/json', ...made }, supersedes };
        });
      const first = pinFiles(turn.manifest, newFiles(before), { run: 'run 1', now: 1 });
      const context = { run: 'run 1', now: 2 };
      const oneByOne = newFiles(after).reduce((manifest, one) => pinFiles(manifest, [one], context), first);
      expect(pinFiles(first, newFiles(after), context)).toEqual(oneByOne);
    }),
  );
});
