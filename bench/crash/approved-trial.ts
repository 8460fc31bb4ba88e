// One trial of an approved write: a person approves it, its Worker is killed, and the turn goes on in a second one. Where
// nobody can know what the write did, the person is asked, and says one of three things.
import { setTimeout as delay } from 'node:timers/promises';
import { approve, resolveOutcome, type OutcomeChoice } from '../../client/decide.ts';
import { listApprovals, type Approval } from '../../client/approvals.ts';
import { executionsOf, settledCalls, type WriteEvidence } from './check.ts';
import { approvedMoment, type ApprovedName, type Moment } from './plan.ts';
import { startWorkerProcess } from './process.ts';
import { POST_KEY } from './script.ts';
import { prepare, type Trial } from './setup.ts';
import { RECOVERY_LIMIT_MS, startTrialTurn, verdictOf, withDeadline, type TrialResult } from './trial.ts';
import type { CrashWorld } from './world.ts';

/** What a trial of an approved write gave. */
export interface ApprovedResult extends TrialResult {
  readonly moment: Moment;
  /** What the person said of the unknown outcome; null where nobody asked. */
  readonly choice: OutcomeChoice | null;
}

const CHOICES = ['run-again', 'done', 'give-up'] as const;
/** Claimed and not answered when the Worker died: the outcome is unknown. */
const UNKNOWN_AT: readonly Moment[] = [
  'journal-sent-after',
  'effect-before',
  'effect-after',
  'journal-answered-before',
];
/** What the model is told of the result of each choice. */
const WORDS = {
  'run-again': /posted/,
  done: /confirms that this call .* took effect/,
  'give-up': /gave it up/,
} as const;
const LOOK_MS = 300;
const DECIDE_MS = 50_000;
const APPROVER = 'ann@trial';

/** Runs a trial. `variant`, from 0, chooses among the moments, and what the person says of an unknown outcome. */
export async function runApprovedTrial(
  world: CrashWorld,
  boundary: ApprovedName,
  variant: number,
): Promise<ApprovedResult> {
  const moment = approvedMoment(boundary, variant);
  const trial = await prepare(world, {
    boundary: moment,
    name: boundary,
    variant,
    isGated: true,
    onEffect: async (tool, when) => {
      // The turn must not end before its Worker is killed.
      if (moment === 'decision-after' && tool === 'post' && when === 'before') await trial.first?.ended;
    },
  });
  const first = startWorkerProcess(trial.plan);
  trial.first = first;
  const isOver = new AbortController();
  try {
    const handle = await startTrialTurn(world, trial);
    const person = new Person(world, trial, isOver.signal);
    const killed = withDeadline(first.ended, `the Worker was not killed at ${moment}`, first);
    // In every other round the person decides while the pause is still being written.
    const isLate = boundary === 'approved-pause' && Math.floor(variant / 3) % 2 === 0;
    const approving = isLate ? killed.then(() => person.approve()) : person.approve();
    if (moment === 'decision-after')
      void approving.then(
        () => trial.fire(),
        () => trial.fire(),
      );
    const approved = Promise.all([approving, killed]);
    const { atMs } = await killed;
    trial.isKilled = true;
    const settledAtKill = settledCalls(await handle.fetchHistory());
    const executionsAtKill = executionsOf(trial.executed());
    world.rescuer.takeOver(trial.plan);
    await withDeadline(approved, 'the approval was not taken', world.rescuer.process);
    const choice = CHOICES[(variant + Math.floor(variant / CHOICES.length)) % CHOICES.length] ?? 'give-up';
    const ended = handle.result().then(() => null);
    const asked = await withDeadline(
      Promise.race([ended, person.outcome()]),
      'the approved call neither ended nor asked',
      world.rescuer.process,
    );
    const told = asked === null ? [] : await person.settle(asked, choice);
    await withDeadline(ended, 'the turn did not end', world.rescuer.process);
    const recoverMs = performance.now() - atMs;
    const isOpen = moment === 'decision-after' || (boundary === 'approved-pause' && !isLate);
    const write = { moment, choice: asked === null ? null : choice };
    const verdict = await verdictOf(world, trial, { settledAtKill, executionsAtKill }, (evidence) =>
      judgeApproved(evidence, { ...write, isOpen, gave: generationsOf(trial) }),
    );
    const history = await handle.fetchHistory();
    const late = recoverMs > RECOVERY_LIMIT_MS ? [`it took ${Math.round(recoverMs)} ms`] : [];
    const faults = [...verdict.faults, ...told, ...late];
    const unknown = asked === null ? 0 : 1;
    return { ...verdict, unknown, faults, boundary, variant, recoverMs, history, ...write };
  } finally {
    isOver.abort();
    world.modelHooks.delete(trial.model);
    first.kill('SIGKILL');
    await world.rescuer.stop(trial.turn.taskQueue);
  }
}

/** Who looks at what waits, from history alone, and decides. */
class Person {
  private readonly world: CrashWorld;
  private readonly trial: Trial;
  private readonly signal: AbortSignal;
  private approved: Approval | undefined;

  constructor(world: CrashWorld, trial: Trial, signal: AbortSignal) {
    this.world = world;
    this.trial = trial;
    this.signal = signal;
  }

  /** Approves the write as soon as it is listed. */
  async approve(): Promise<void> {
    this.approved = await this.look('approval');
    const { id, digest } = this.approved;
    await approve(this.world.client, id, { digest, approver: APPROVER, timeoutMs: DECIDE_MS });
  }

  /** The question what became of the write, once it is asked. */
  outcome(): Promise<Approval> {
    return this.look('outcome');
  }

  /** Says what becomes of the write; tells what did not hold before it was said. */
  async settle(asked: Approval, choice: OutcomeChoice): Promise<readonly string[]> {
    const faults: string[] = [];
    const sent = [...generationsOf(this.trial)].join(', ');
    if (sent !== '' && sent !== '0') faults.push(`before the person was asked, the generations sent are ${sent}`);
    if (asked.callKey !== POST_KEY || asked.digest === this.approved?.digest)
      faults.push('the question is not its own');
    if (!/unknown/.test(asked.known ?? '')) faults.push(`the person cannot act on: ${asked.known ?? 'nothing'}`);
    const options = { approver: APPROVER, timeoutMs: DECIDE_MS };
    const digest = this.approved?.digest ?? '';
    // Sent once more, the approval is the same one, and no wish to run again.
    const again = await approve(this.world.client, asked.id, { ...options, digest });
    if (!again.repeated) faults.push('the approval sent again was taken as another');
    await resolveOutcome(this.world.client, asked.id, choice, { ...options, digest: asked.digest });
    return faults;
  }

  private async look(kind: Approval['kind']): Promise<Approval> {
    const { workflowId } = this.trial.turn;
    while (!this.signal.aborted) {
      const found = (await listApprovals(this.world.client, { workflowId })).find((one) => one.kind === kind);
      if (found) return found;
      await delay(LOOK_MS);
    }
    throw new Error(`The trial is over, and nobody was asked for an ${kind}`);
  }
}

/** Generations of the write whose requests arrived, one a request. */
function generationsOf(trial: Trial): readonly string[] {
  const lines = trial.executed().filter((line) => line.split(':').at(-2) === POST_KEY);
  return lines.map((line) => line.split(':').at(-1) ?? line);
}

interface ApprovedWrite {
  readonly moment: Moment;
  readonly choice: OutcomeChoice | null;
  /** Whether the write may have been under way at the kill, or not. */
  readonly isOpen: boolean;
  readonly gave: readonly string[];
}

/** Once, or unknown and then as the person says; never sent again unasked. */
function judgeApproved(
  { outcome, text, done }: WriteEvidence,
  { moment, choice, isOpen, gave }: ApprovedWrite,
): readonly string[] {
  const faults: string[] = [];
  if (!isOpen && UNKNOWN_AT.includes(moment) !== (choice !== null)) {
    faults.push(
      choice === null ? 'nobody was asked what became of the write' : 'the outcome was known, and was asked for',
    );
  }
  const sentFirst = gave.filter((generation) => generation === '0').length;
  const sentAgain = gave.length - sentFirst;
  if (sentFirst > 1) faults.push(`the write was sent ${sentFirst} times under one approval`);
  if (sentAgain !== (choice === 'run-again' ? 1 : 0)) faults.push(`the write was sent again ${sentAgain} times`);
  // A request that has arrived is carried out, whatever became of its Worker.
  if (done.length !== gave.length) faults.push(`${gave.length} requests had ${done.length} effects`);
  if (choice === null && done.length !== 1) faults.push(`the write was done ${done.length} times`);
  const end = choice === 'give-up' ? 'unknown' : 'ok';
  if (outcome !== end) faults.push(`the write ended ${outcome ?? 'nowhere'}, not ${end}`);
  if (!WORDS[choice ?? 'run-again'].test(text)) faults.push(`the model is told: ${text}`);
  return faults;
}
