// The embedded Temporal server and its alternative: what the rest of the project uses of `dev-server/`.
export { attachDevServer } from './dev-server/attach.ts';
export type { AttachOptions } from './dev-server/attach.ts';
export { connectTemporal, namedServer, requireReachable } from './dev-server/connect-temporal.ts';
export type { NamedServer, TemporalServer } from './dev-server/connect-temporal.ts';
export type { DevServerLease } from './dev-server/lease.ts';
export type { Attachment, AttachmentKind } from './dev-server/protocol.ts';
export { SEARCH_ATTRIBUTES, TUNING } from './dev-server/server-process.ts';
