// In a checkout the Workflows are sources: their bundle is made once for each state of them, which takes seconds, and kept beside
// the Temporal CLI's cache. The package has a bundle of its own and comes not here.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleOption } from '@temporalio/worker';
import { siblingModule } from '../activities/threads/module-url.ts';
import { preloadedModules } from './preloaded-modules.ts';
import { cacheFolder } from './temporal-cli/cache.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Everything that a Workflow may import lies here, or is a package of the lock file. */
const SOURCE_FOLDERS = ['workflows', 'shared'];
/** A bundle that nobody has used for this long is removed, in milliseconds. */
const KEPT_MS = 7 * 86_400_000;

/**
 * The bundle of Longshore's Workflows, made when there is none of these very sources. Two processes that make it at once
 * make the same, and the later rename wins.
 */
export async function sourceBundle(env: NodeJS.ProcessEnv = process.env): Promise<WorkflowBundleOption> {
  const folder = join(dirname(cacheFolder(env)), 'workflow-bundles');
  const path = join(folder, `${await sourceHash()}.js`);
  if (await isThere(path)) return { codePath: path };
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(siblingModule(import.meta.url, '../workflows/index')),
    preloadModules: preloadedModules(),
    logger: new DefaultLogger('WARN'),
  });
  try {
    await mkdir(folder, { recursive: true });
    await removeUnused(folder);
    const unfinished = `${path}.${randomUUID()}`;
    await writeFile(unfinished, code);
    await rename(unfinished, path);
  } catch {
    // A cache that cannot be written costs time and nothing else.
  }
  return { code };
}

/** Of all that a bundle is made of: sources, versions of packages, and where they lie, which is in the source map. */
async function sourceHash(): Promise<string> {
  const hash = createHash('sha256').update(root);
  const lists = SOURCE_FOLDERS.map(async (folder) =>
    (await readdir(join(root, folder), { recursive: true }))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  const names = ['package-lock.json', 'worker/preloaded-modules.ts', ...(await Promise.all(lists)).flat().sort()];
  for (const name of names) {
    const content = await readFile(join(root, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Whether it is there; it counts as used from now. */
async function isThere(path: string): Promise<boolean> {
  try {
    const now = new Date();
    await utimes(path, now, now);
    return true;
  } catch {
    return false;
  }
}

async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const status = await stat(path).catch(() => undefined);
    if (status && Date.now() - status.mtimeMs > KEPT_MS) await rm(path, { force: true });
  }
}
