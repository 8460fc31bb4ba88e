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

/** The boundary of a name; raises an error that lists the names there are. */
export function boundaryOf(name: string): (typeof BOUNDARIES)[number] {
  const found = BOUNDARIES.find((boundary) => boundary.name === name);
  if (found) return found;
  throw new Error(`There is no boundary \`${name}\`. There are: ${BOUNDARIES.map((one) => one.name).join(', ')}.`);
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
  readonly boundary: BoundaryName | null;
  /** Chooses among the moments that fit, from 0. */
  readonly variant: number;
  /** Of the Worker. @default the SDK's */
  readonly identity?: string;
}

/** The variable that holds the plan. */
export const PLAN_VARIABLE = 'CRASH_PLAN';
