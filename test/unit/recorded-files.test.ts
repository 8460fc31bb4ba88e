// What a lost manifest is made of again: the files of all committed results, in parts, or a typed end where history says too little.
import { describe, expect, it } from 'vitest';
import type { CommittedResult } from '../../shared/activities.ts';
import { payloadBytes } from '../../shared/payload-limit.ts';
import { FilesOnRecord, withManifest } from '../../workflows/recorded-files.ts';
import { ApplicationFailure } from '@temporalio/common';

const file = (path: string) => ({ path, sha256: 'a'.repeat(64), bytes: 9, mediaType: 'text/plain' });
function result(callKey: string, more: Partial<CommittedResult> = {}): CommittedResult {
  return {
    callKey,
    callId: 'c',
    name: 'desk__read',
    server: 'desk',
    tool: 'read',
    outcome: 'ok',
    placement: 'file',
    rule: 'result',
    context: { text: '' },
    tokens: 1,
    images: [],
    blocks: [],
    written: [],
    ...more,
  } as CommittedResult; // the placement's rule is of no account here
}

describe('[FILE-21] the files on record', () => {
  it('are those of every committed result, in the order of commits, with what is needed to pin them', () => {
    const files = new FilesOnRecord();
    files.committed([result('t1/0/0', { file: file('/sandbox/a') }), result('t1/0/1')]);
    files.committed([
      result('t1/1/0', { written: [file('/sandbox/w')], blocks: [{ ...file('/sandbox/b'), block: 1, kind: 'text' }] }),
      result('t1/0/0', { file: file('/sandbox/c'), generation: 1, outcome: 'error' }),
    ]);
    const [part, ...others] = files.parts();
    expect(others).toEqual([]);
    expect(part).toEqual([
      { callKey: 't1/0/0', server: 'desk', tool: 'read', files: [file('/sandbox/a')], supersedes: true },
      {
        callKey: 't1/1/0',
        server: 'desk',
        tool: 'read',
        files: [file('/sandbox/b'), file('/sandbox/w')],
        supersedes: true,
      },
      {
        callKey: 't1/0/0',
        server: 'desk',
        tool: 'read',
        files: [file('/sandbox/c')],
        supersedes: false,
        generation: 1,
      },
    ]);
  });

  it('come in parts that each fit into an input, and in one where there are none', () => {
    const files = new FilesOnRecord();
    expect(files.parts()).toEqual([[]]);
    const many = Array.from({ length: 9_000 }, (_, at) => result(`t1/${at}/0`, { file: file(`/sandbox/${at}`) }));
    files.committed(many);
    const parts = files.parts();
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flat()).toHaveLength(9_000);
    for (const part of parts) expect(payloadBytes(part)).toBeLessThan(1_100_000);
  });

  it('are none where a call was made anew and its newer result stands in the context itself', () => {
    const files = new FilesOnRecord();
    files.committed([result('t1/0/0', { file: file('/sandbox/a') }), result('t1/0/0', { generation: 1 })]);
    expect(() => files.parts()).toThrow(expect.objectContaining({ type: 'PinsDiffer', nonRetryable: true }));
  });

  it('are asked for only where the manifest is missing, and once', async () => {
    const missing = ApplicationFailure.create({ type: 'ManifestMissing', message: 'gone' });
    const calls: string[] = [];
    const failing = (): Promise<string> => {
      calls.push('call');
      return Promise.reject(missing);
    };
    const rebuild = (): Promise<void> => {
      calls.push('rebuild');
      return Promise.resolve();
    };
    await expect(withManifest(failing, String, rebuild)).rejects.toBe(missing);
    expect(calls).toEqual(['call', 'rebuild', 'call']);
    const other = ApplicationFailure.create({ type: 'StoreFull', message: 'full' });
    await expect(withManifest(() => Promise.reject(other), String, rebuild)).rejects.toBe(other);
    expect(calls).toHaveLength(3);
  });
});
