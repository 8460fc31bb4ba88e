// The entry `longshore/testing`: a scripted model over HTTP, and the replay gate.
export { replayTurn, type ReplayOptions } from './replay.ts';
export { startScriptedModel, type ScriptedModel } from './scripted-model.ts';
