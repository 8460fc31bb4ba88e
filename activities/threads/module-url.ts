// Finds the module of a thread beside the one that starts it: `.ts` in the repository, `.js` in the package.

/** The address of a sibling module, its extension like the importer's: `siblingModule(import.meta.url, './count')`. */
export function siblingModule(importerUrl: string, pathWithoutExtension: string): URL {
  const extension = importerUrl.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`${pathWithoutExtension}${extension}`, importerUrl);
}
