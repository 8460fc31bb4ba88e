// Large results through the Activity `longshoreCallTool`, in a process of its own whose memory is read from the system.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

interface Outcome {
  readonly outcome: string;
  readonly stagedBytes: number;
  readonly ms: number;
  readonly beforeMb: number;
  readonly highestMb: number;
  readonly text: string;
}

async function measured(name: string): Promise<Outcome> {
  const program = fileURLToPath(new URL('../../bench/mcp-size.ts', import.meta.url));
  const child = spawn(process.execPath, [program, '--child', name], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'close');
  return JSON.parse(output) as Outcome;
}

describe.runIf(process.platform === 'linux')('a result', () => {
  it.each([
    ['50 MB, stdio', 49_000_000],
    ['50 MB, HTTP, JSON', 49_000_000],
    ['50 MB, HTTP, event stream', 49_000_000],
    ['50 MB of structured content, stdio', 49_000_000],
    ['50 MB of structured content, HTTP, event stream', 49_000_000],
    ['50 MB of base64 as an image, stdio', 37_000_000],
  ])('of %s is staged as a file within 400 MB of memory', async (name, leastBytes) => {
    const { outcome, stagedBytes, highestMb } = await measured(name);
    expect(outcome).toBe('ok');
    expect(stagedBytes).toBeGreaterThan(leastBytes);
    expect(highestMb).toBeLessThan(400);
  });

  it('of 200 MB over stdio fails its call with the limit’s name, and takes little more memory than the limit', async () => {
    const { outcome, text, ms, beforeMb, highestMb } = await measured('200 MB, stdio');
    expect(outcome).toBe('error');
    expect(text).toMatch(/above the limit of 67108864 bytes \(`maxMessageBytes`\)/);
    expect(ms).toBeLessThan(10_000);
    expect(highestMb - beforeMb).toBeLessThan(67 + 60);
  });
});
