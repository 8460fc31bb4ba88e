// What one trial is made of, and the kills that its model and its servers carry out.
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linesOf, type EffectHook, type TrialEffects } from './effects.ts';
import { triggerOf, type Moment, type WorkerPlan } from './plan.ts';
import type { TrialProcess } from './process.ts';
import { callKeyOf, STEP_CALLS } from './script.ts';
import type { CrashWorld } from './world.ts';

const EFFECT_TARGETS = ['post', 'place', 'balance', 'archive'] as const;

/** A trial's things, before anything of it runs. */
export interface Trial {
  /** Where its first Worker is killed; null where it is not. */
  readonly boundary: Moment | null;
  /** Whether a person is asked before the write. */
  readonly isGated: boolean;
  readonly variant: number;
  readonly model: string;
  readonly turn: { readonly workflowId: string; readonly taskQueue: string };
  readonly plan: WorkerPlan;
  readonly effects: TrialEffects;
  first: TrialProcess | undefined;
  isKilled: boolean;
  /** Kills the first Worker, once; resolves when it has ended. */
  fire(): Promise<void>;
  fireIn(ms: number): void;
  /** A line for every execution of a call, ending in its idempotency key. */
  executed(): readonly string[];
}

/** What a trial has of its own. */
export interface TrialOptions {
  readonly boundary?: Moment;
  /** Names the trial. @default the boundary */
  readonly name?: string;
  /** A person is asked before the write, and it is the one call around which Workers are killed. @default false */
  readonly isGated?: boolean;
  /** Chooses among the moments that a boundary has. @default 0 */
  readonly variant?: number;
  /** A store that other trials use too. @default its own */
  readonly storeFolder?: string;
  /** Called around the effects, after what the boundary does there. */
  readonly onEffect?: EffectHook;
}

/** Sets a trial up: its folder, its servers, its model's hook, its plan. Nothing of it runs yet. */
export async function prepare(world: CrashWorld, options: TrialOptions): Promise<Trial> {
  const { boundary = null, variant = 0, isGated = false, name = boundary ?? 'none' } = options;
  const unique = world.identity === undefined ? `-${randomUUID().slice(0, 8)}` : '';
  const id = `crash-${name}-${variant}${unique}`;
  const folder = join(world.folder, id);
  await mkdir(folder);
  const deskLog = join(folder, 'desk.log');
  const effects = world.effects.open(id, join(folder, 'effects.log'), async (tool, moment) => {
    await onEffect(trial, tool, moment);
    await options.onEffect?.(tool, moment);
  });
  const trial: Trial = {
    boundary,
    isGated,
    variant,
    model: id,
    turn: { workflowId: id, taskQueue: id },
    effects,
    first: undefined,
    isKilled: false,
    plan: {
      address: world.address,
      taskQueue: id,
      bundlePath: world.bundlePath,
      storeFolder: options.storeFolder ?? join(folder, 'store'),
      modelUrl: world.model.baseUrl,
      effectsUrl: effects.url,
      deskLog,
      marker: join(folder, 'killed'),
      boundary: boundary !== null && triggerOf(boundary) === 'worker' ? boundary : null,
      target: callKeyOf(isGated ? 'post' : (STEP_CALLS[variant % STEP_CALLS.length] ?? STEP_CALLS[0]).tool),
      ...(world.identity !== undefined && { identity: world.identity }),
    },
    async fire() {
      if (trial.isKilled) return;
      trial.first?.kill('SIGKILL');
      await trial.first?.ended;
    },
    fireIn: (ms) => void setTimeout(() => void trial.fire(), ms),
    executed: () => [...effects.requests(), ...linesOf(deskLog)],
  };
  const isWanted = (moment: Moment): boolean => !trial.isKilled && boundary === moment && asked === 1 + (variant % 2);
  let asked = 0;
  world.modelHooks.set(id, {
    before: async () => {
      asked += 1;
      if (isWanted('model-answer-before')) await trial.fire();
    },
    after: () => {
      if (isWanted('model-answer-after')) void trial.fire();
    },
  });
  return trial;
}

/** Kills around an effect, or holds calls so that the step is still under way when the Worker is to be killed. */
async function onEffect(trial: Trial, tool: string, moment: 'before' | 'after'): Promise<void> {
  if (trial.isKilled) return;
  const target = trial.isGated ? 'post' : EFFECT_TARGETS[trial.variant % EFFECT_TARGETS.length];
  if (trial.boundary === `effect-${moment}` && tool === target) await trial.fire();
  const holdsAll = trial.boundary === 'model-completion-after' && moment === 'before';
  const holdsLast = trial.boundary === 'tool-completion-after' && moment === 'after' && tool === 'archive';
  if (holdsAll || holdsLast) await trial.first?.ended;
}
