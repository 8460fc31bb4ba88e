// The entry `longshore/testing`: a scripted model over HTTP, and the replay gate.
export { replayTurn, type ReplayOptions } from './replay.ts';
export {
  startScriptedModel,
  type ScriptedAnswer,
  type ScriptedMessage,
  type ScriptedModel,
  type ScriptedModelServer,
  type ScriptedRequest,
  type ScriptedToolCall,
  type ScriptedUsage,
} from './scripted-model.ts';
