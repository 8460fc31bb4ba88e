// Every change of commands, by its patch id: what changed, when, why. An id stays for as long as a history from before it may
// still be replayed.

/** 2026-11-30: a commit larger than one payload is committed in parts ahead; before, such a turn could not go on. */
export const COMMIT_IN_PARTS = 'longshore-commit-in-parts';

/** 2026-11-30: a turn ends while a step of 1,000 calls still has room in its history; before, only when it was nearly full. */
export const STEP_HEADROOM = 'longshore-step-headroom';
