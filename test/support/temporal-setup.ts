// One real dev server for all tests of a run, embedded as the product embeds it; tests keep apart by Task Queue and id.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
  }
}

/** Starts the server before the first test, and ends it after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const home = await openHome({ LONGSHORE_HOME: folder }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  project.provide('temporalAddress', lease.address);
  return async () => {
    await lease.release();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  };
}
