// The settings of the web hook example, as a person gets them wrong.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('[APPR-13] the web hook example says all that is wrong with its settings in one message, without a stack', () => {
  const main = fileURLToPath(new URL('../../examples/webhook/main.ts', import.meta.url));
  const env = { PATH: process.env['PATH'] ?? '', WEBHOOK_SECRET: 'short-secret', PORT: 'eighty' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr.trim().split('\n')).toEqual([
    'The web server cannot start:',
    expect.stringContaining('CHAT_URL'),
    expect.stringMatching(/WEBHOOK_SECRET has 12 characters and needs 32/),
    expect.stringContaining('PORT is eighty'),
  ]);
  expect(stderr).not.toContain('short-secret');
});
