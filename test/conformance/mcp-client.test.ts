// The MCP client against the protocol's own conformance suite, with no expected failures.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packagedFile } from '../support/mcp-pools.ts';

const client = fileURLToPath(new URL('./client.ts', import.meta.url));
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Verdict {
  readonly code: number | null;
  readonly output: string;
}

async function run(scenario: string): Promise<Verdict> {
  const suite = packagedFile('@modelcontextprotocol/conformance/dist/index.js');
  const command = `${process.execPath} ${client}`;
  const args = [suite, 'client', '--command', command, '--scenario', scenario, '--timeout', '20000'];
  // It leaves its results in the working directory.
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

describe('the conformance suite of MCP', () => {
  it.each(['initialize', 'tools_call', 'sse-retry', 'elicitation-sep1034-client-defaults'])(
    'is passed by the client in its scenario %s',
    async (scenario) => {
      const { code, output } = await run(scenario);
      expect(output).toMatch(/Passed: [1-9]\d*\/[1-9]\d*, 0 failed/);
      expect(code).toBe(0);
    },
  );
});
