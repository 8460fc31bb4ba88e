// Tools that were left out of what a server offers, for people.
import type { CatalogServer } from '../shared/catalog.ts';
import type { Output } from './output.ts';
import { visible } from './waiting-lines.ts';

/** A line a tool, with what is wrong with it. */
export function leftOutLines(leftOut: CatalogServer['problems'], paint: Output['paint']): readonly string[] {
  return leftOut.map(({ tool, problem }) => `    ${paint('red', 'left out')} ${visible(`${tool}: ${problem}`)}`);
}
