// What a waiting turn must not lose, as data: what waits, files of settled siblings, other blobs that the step refers to. Pure.
import type { PauseRecord, ProposedCall, StagedFiles } from '../../shared/activities.ts';
import type { AgentSpec } from '../../shared/agent-spec.ts';
import type { WaitingCall } from '../../shared/approvals.ts';
import type { FileFacts, ResultFacts } from '../../shared/facts.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { SettledCall } from '../../shared/results.ts';
import { retentionOfTool } from '../../shared/retention.ts';

/** What a step knows of itself while some of its calls wait. */
export interface StepSoFar {
  readonly step: number;
  readonly calls: readonly ProposedCall[];
  readonly settled: readonly SettledCall[];
}

/** The record of a pause. Each blob is named once. */
export function pauseRecord(
  { step, calls, settled }: StepSoFar,
  waiting: readonly WaitingCall[],
  spec: AgentSpec,
): PauseRecord {
  const staged = settled.flatMap((one) => stagedFiles(one, spec));
  const refs = [
    ...[...calls, ...settled.map((one) => one.call), ...waiting].flatMap(({ argumentsRef }) => argumentsRef ?? []),
    ...settled.flatMap(({ result }) => ('facts' in result ? blobsOf(result.facts) : [])),
  ];
  return { step, waiting, staged, refs: [...new Map(refs.map((ref) => [ref.sha256, ref])).values()] };
}

/** Whether a result left anything in the store. */
export function hasBlobs({ result }: SettledCall): boolean {
  if ('spoken' in result) return false;
  const { file, blocks, written = [] } = result.facts;
  return file !== undefined || blocks.length > 0 || written.length > 0 || blobsOf(result.facts).length > 0;
}

function stagedFiles({ call, result }: SettledCall, spec: AgentSpec): readonly StagedFiles[] {
  if ('spoken' in result) return [];
  const { file, blocks, written = [], blocksRef } = result.facts;
  const files = [...(file ? [file] : []), ...blocks, ...written].map(plain);
  if (files.length === 0 && !blocksRef) return [];
  const { callKey, server, tool } = call;
  const retention = retentionOfTool(spec, server, tool);
  return [{ callKey, server, tool, files, ...(blocksRef && { blocksRef }), ...(retention && { retention }) }];
}

function plain({ path, sha256, bytes, mediaType }: FileFacts): FileFacts {
  return { path, sha256, bytes, mediaType };
}

function blobsOf({ inlineBlob, blocksRef }: ResultFacts): readonly BlobRef[] {
  return [...(inlineBlob ? [inlineBlob] : []), ...(blocksRef ? [blocksRef] : [])];
}
