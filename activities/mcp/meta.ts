// Names of ours in the `_meta` of MCP requests.

/** The key under which a server finds the call's idempotency key. Source: architecture D11. */
export const IDEMPOTENCY_KEY_META = 'longshore/idempotency-key';
