// What a comparison of pins tells: how many records were compared.
import type { VerifyFilesInput, VerifyFilesResult } from '../../shared/activities.ts';
import { turnLabels, type Watched } from './watch.ts';

/** Watches a comparison; it has no span of its own. */
export function watchVerifyFiles({ turn }: VerifyFilesInput): Watched {
  return {
    what: 'check of pins',
    labels: turnLabels(turn),
    succeeded: (result) => {
      // Only this Activity's own result comes here.
      const { compared } = result as VerifyFilesResult;
      const entry = { level: 'info' as const, message: 'pins checked', ...turnLabels(turn), compared };
      return { attributes: {}, entries: [entry], measurements: [] };
    },
  };
}
