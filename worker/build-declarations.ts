// Finishes what `tsc` has written to dist/: `tsc` turns `.ts` specifiers into `.js` in programs, but not in declarations, and
// leaves the command without its mode. `node worker/build-declarations.ts`, after `tsc`.
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
/** A relative specifier that ends in `.ts`: `from "./x.ts"`, `import("./x.ts")`. */
const SPECIFIER = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])(\.{1,2}\/[^"']+)\.ts\2/g;

for (const name of await readdir(dist, { recursive: true })) {
  if (!name.endsWith('.d.ts')) continue;
  const path = join(dist, name);
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replaceAll(SPECIFIER, '$1$2$3.js$2'));
}
await chmod(join(dist, 'cli', 'main.js'), 0o755);
