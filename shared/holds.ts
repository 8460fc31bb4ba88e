// Holds set by hand: what is held is kept, whatever the rules say, until somebody lets go. Source: architecture D8.

/** What a hold is on: one path wherever it stands, all of a turn, or all of a session. */
export type HoldTarget =
  | { readonly type: 'path'; readonly path: string }
  | { readonly type: 'turn'; readonly workflowId: string }
  | { readonly type: 'session'; readonly session: string };

/** One hold, as stored. */
export interface Hold {
  readonly version: 1;
  readonly target: HoldTarget;
  /** What the caller claims to be; not verified. */
  readonly by: string;
  readonly reason?: string;
  /** By the clock of who set it; milliseconds since 1970. */
  readonly since: number;
}

/** What holds are asked about: a file of a turn of a session; without a path, the turn as a whole. */
export interface HoldSubject {
  readonly session: string;
  readonly workflowId: string;
  readonly path?: string;
}

/** Whether a hold keeps a thing. */
export function isHeldBy({ target }: Hold, subject: HoldSubject): boolean {
  if (target.type === 'path') return target.path === subject.path;
  if (target.type === 'turn') return target.workflowId === subject.workflowId;
  return target.session === subject.session;
}

/** A target in words, as in "turn `a`". */
export function describeTarget(target: HoldTarget): string {
  if (target.type === 'path') return `\`${target.path}\``;
  if (target.type === 'turn') return `turn \`${target.workflowId}\``;
  return `session \`${target.session}\``;
}
