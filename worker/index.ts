// The entry `longshore`: the plugin, local tools, and the configuration's form.
export { LongshorePlugin, type LongshorePluginOptions } from './plugin.ts';
export { defineConfig, type LongshoreConfig } from '../shared/config.ts';
export {
  defineLocalServer,
  defineLocalTool,
  type LocalServer,
  type LocalTool,
  type LocalToolContext,
  type LocalToolOutput,
} from '../activities/mcp/local.ts';
export { createLocalStore } from '../activities/store/local.ts';
export { createS3Store, type S3Store, type S3StoreOptions } from '../activities/store/s3.ts';
export { LongshoreError, type ErrorRecord, type ErrorType } from '../shared/errors.ts';
export type { ApprovalEvent, ApprovalEventType } from '../shared/approval-events.ts';
export type { DecidedCall, WaitingCall } from '../shared/approvals.ts';
export type { ApprovalHook, LongshoreHooks } from '../shared/hooks.ts';
export type { FileStore } from '../shared/file-store.ts';
export type { S3StoreSettings, StoreSettings } from '../shared/store-settings.ts';
