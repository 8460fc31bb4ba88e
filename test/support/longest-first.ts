// The order of the test files: those that take a minute or more come first, so that none of them is left alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By name, the longest first; the others keep the order that vitest gives them. */
const LONGEST = [
  'crash.test.ts',
  'cli-approvals.test.ts',
  'cli-bad-input-services.test.ts',
  'cli-run-interrupt.test.ts',
  'cli-bad-input.test.ts',
  'cli-retention.test.ts',
  'cli-run-alone.test.ts',
  'cli-approvals-terminal.test.ts',
  'dev-server.test.ts',
  'cli-turns.test.ts',
];

/** What vitest sorts the files by. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
