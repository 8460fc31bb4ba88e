// Where a Worker is killed, as data: every boundary of a step, who pulls the trigger, and what a trial's processes are told.

/** Who kills: the Worker itself at an exact line, or the trial, which sees the moment from outside. */
export type Trigger = 'worker' | 'trial';

/** One boundary of a step. */
export interface Boundary {
  readonly name: string;
  readonly trigger: Trigger;
  /** The moment, in words for the table. */
  readonly moment: string;
}

/** All boundaries, in the order of a step's life. */
export const BOUNDARIES = [
  { name: 'start-up', trigger: 'trial', moment: '100 to 1500 ms after the process was started' },
  { name: 'model-answer-before', trigger: 'trial', moment: 'the model has the request, no byte is answered' },
  { name: 'model-answer-after', trigger: 'trial', moment: 'the last byte of the answer has been sent' },
  { name: 'transcript-before', trigger: 'worker', moment: 'the answer is here, its transcript segment is not written' },
  { name: 'transcript-after', trigger: 'worker', moment: 'the segment is durable, the Activity has not returned' },
  {
    name: 'model-completion-before',
    trigger: 'worker',
    moment: 'the model call has returned, its result is not reported',
  },
  { name: 'model-completion-after', trigger: 'trial', moment: 'the result of the model call stands in history' },
  { name: 'journal-sent-before', trigger: 'worker', moment: 'the write is about to be claimed in the journal' },
  { name: 'journal-sent-after', trigger: 'worker', moment: '`sent` is durable, the request is not out' },
  { name: 'effect-before', trigger: 'trial', moment: 'the server has the request, nothing is done' },
  { name: 'effect-after', trigger: 'trial', moment: 'the effect is done, the server has not answered' },
  { name: 'journal-answered-before', trigger: 'worker', moment: 'the answer is here, `answered` is not written' },
  { name: 'journal-answered-after', trigger: 'worker', moment: '`answered` is durable, the Activity has not returned' },
  { name: 'staged-before', trigger: 'worker', moment: 'the large result is about to be staged' },
  { name: 'staged-after', trigger: 'worker', moment: 'the large result is durable, the Activity has not returned' },
  {
    name: 'tool-completion-before',
    trigger: 'worker',
    moment: 'the tool call has returned, its result is not reported',
  },
  { name: 'tool-completion-after', trigger: 'trial', moment: 'the result of a tool call stands in history' },
  { name: 'placement-before', trigger: 'worker', moment: 'all results are with the Workflow, nothing is decided' },
  { name: 'placement-after', trigger: 'worker', moment: 'placement is decided, the command has not left' },
  { name: 'commit-pin-before', trigger: 'worker', moment: 'the manifest with the pins is not written' },
  { name: 'commit-pin-after', trigger: 'worker', moment: 'the pins are durable, the transcript is not appended to' },
  { name: 'commit-append-before', trigger: 'worker', moment: 'the segment with the results is not written' },
  { name: 'commit-append-after', trigger: 'worker', moment: 'the segment with the results is durable' },
  { name: 'during-blob-write', trigger: 'worker', moment: 'half of the large result is in its temporary file' },
  { name: 'during-object-write', trigger: 'worker', moment: 'half of the manifest is in its temporary file' },
  { name: 'during-object-install', trigger: 'worker', moment: 'the manifest is whole, not yet in its place' },
] as const satisfies readonly Boundary[];

/** A boundary's name. */
export type BoundaryName = (typeof BOUNDARIES)[number]['name'];

/** Moments of a call that a person approves, beside the boundaries of any call. */
const APPROVAL_MOMENTS = [
  { name: 'pause-before', trigger: 'worker', moment: 'the manifest with what waits is not written' },
  { name: 'pause-during', trigger: 'worker', moment: 'half of that manifest is in its temporary file' },
  { name: 'pause-after', trigger: 'worker', moment: 'what waits is durable, the Activity has not returned' },
  { name: 'decision-before', trigger: 'worker', moment: 'the Workflow has the decision, its commands have not left' },
  { name: 'decision-after', trigger: 'trial', moment: 'the person has the answer to the decision' },
  { name: 'approved-start', trigger: 'worker', moment: 'the call is with the Worker, nothing of it has run' },
] as const satisfies readonly Boundary[];

/** Any moment at which a Worker may die. */
export type Moment = BoundaryName | (typeof APPROVAL_MOMENTS)[number]['name'];

/** Where a Worker is killed around an approved write; a trial's number chooses among the moments. */
export const APPROVED_BOUNDARIES = [
  { name: 'approved-before-effect', moments: ['journal-sent-before', 'journal-sent-after', 'effect-before'] },
  { name: 'approved-after-effect', moments: ['effect-after', 'journal-answered-before'] },
  { name: 'approved-after-record', moments: ['journal-answered-after', 'tool-completion-before'] },
  { name: 'approved-decided', moments: ['decision-before', 'decision-after', 'approved-start'] },
  { name: 'approved-pause', moments: ['pause-before', 'pause-during', 'pause-after'] },
] as const satisfies readonly { readonly name: string; readonly moments: readonly [Moment, ...Moment[]] }[];

/** The name of a boundary around an approved write. */
export type ApprovedName = (typeof APPROVED_BOUNDARIES)[number]['name'];

/** The name of any boundary. */
export type TrialName = BoundaryName | ApprovedName;

const NAMES: readonly TrialName[] = [...BOUNDARIES, ...APPROVED_BOUNDARIES].map(({ name }) => name);

/** The boundary of a name; raises an error that lists the names there are. */
export function boundaryOf(name: string): (typeof BOUNDARIES)[number] {
  const found = BOUNDARIES.find((boundary) => boundary.name === name);
  if (found) return found;
  throw new Error(`There is no boundary \`${name}\`. There are: ${BOUNDARIES.map((one) => one.name).join(', ')}.`);
}

/** The boundaries that a word names: one by its name, or all that begin with it. Raises an error that lists them. */
export function boundariesNamed(word: string): readonly TrialName[] {
  const exact = NAMES.filter((name) => name === word);
  const found = exact.length > 0 ? exact : NAMES.filter((name) => name.startsWith(word));
  if (found.length > 0) return found;
  throw new Error(`There is no boundary \`${word}\`. There are: ${NAMES.join(', ')}.`);
}

/** Where the Worker of an approved write dies in the trial of this number. */
export function approvedMoment(name: ApprovedName, variant: number): Moment {
  const moments: readonly Moment[] = APPROVED_BOUNDARIES.find((one) => one.name === name)?.moments ?? [];
  const moment = moments[variant % moments.length];
  if (moment === undefined) throw new Error(`The boundary \`${name}\` has no moments`);
  return moment;
}

/** Whether this is the name of a boundary around an approved write. */
export function isApproved(name: TrialName): name is ApprovedName {
  return APPROVED_BOUNDARIES.some((one) => one.name === name);
}

/** Who kills at a moment. */
export function triggerOf(moment: Moment): Trigger {
  const found = [...BOUNDARIES, ...APPROVAL_MOMENTS].find((one) => one.name === moment);
  if (!found) throw new Error(`There is no moment \`${moment}\``);
  return found.trigger;
}

/** What a Worker process is told, as JSON in the variable `CRASH_PLAN`. */
export interface WorkerPlan {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly storeFolder: string;
  readonly modelUrl: string;
  /** Base of the servers of tools, without the server's name. */
  readonly effectsUrl: string;
  /** Lines of `idempotency key` of the local tool, which runs in the Worker. */
  readonly deskLog: string;
  /** Written before the Worker kills itself; a process that finds it runs through. */
  readonly marker: string;
  /** Where to die; null runs through. */
  readonly boundary: Moment | null;
  /** The key of the call whose completion is a boundary. */
  readonly target: string;
  /** Of the Worker. @default the SDK's */
  readonly identity?: string;
}

/** The variable that holds the plan. */
export const PLAN_VARIABLE = 'CRASH_PLAN';
