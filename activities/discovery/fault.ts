// A discovery call that cannot be answered: its message is what the model reads.

/** Raised within the discovery tools only; `callDiscoveryTool` turns it into an answer with `isError`. */
export class DiscoveryFault extends Error {}
