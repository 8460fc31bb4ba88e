// Builds the prebuilt Workflow bundle of the package: `node worker/build-bundle.ts`, after `tsc`.
import { writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** What is used of a source map, as webpack writes it. */
interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly string[];
}

const INLINE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = new URL('../dist/', import.meta.url);
const pathOf = (module: string): string => fileURLToPath(new URL(`workflows/${module}.js`, dist));
const { code } = await bundleWorkflowCode({
  workflowsPath: pathOf('index'),
  preloadModules: [pathOf('preload')],
});
await writeFile(new URL('workflow-bundle.js', dist), withSmallMap(code));

/**
 * The Worker refuses a bundle without an inline source map, and uses of it the positions only. Without the sources' texts the
 * bundle has half the size; without the paths of the machine that built it, two builds are the same.
 */
function withSmallMap(bundle: string): string {
  const start = bundle.lastIndexOf('//# sourceMappingURL=data:');
  const base64 = bundle.indexOf('base64,', start);
  if (start < 0 || base64 < 0) throw new Error('The bundle has no inline source map.');
  // webpack wrote it.
  const map = JSON.parse(Buffer.from(bundle.slice(base64 + 'base64,'.length), 'base64').toString('utf8')) as SourceMap;
  const { sourcesContent: _texts, ...rest } = map;
  const small = { ...rest, sources: map.sources.map(packagePath) };
  return `${bundle.slice(0, start)}${INLINE_MAP}${Buffer.from(JSON.stringify(small)).toString('base64')}\n`;
}

/** A source as seen from the package: `node_modules/…` or `dist/…`. */
function packagePath(source: string): string {
  const modules = source.lastIndexOf('/node_modules/');
  if (modules >= 0) return source.slice(modules + 1);
  return source.startsWith('/') ? relative(root, source) : source;
}
