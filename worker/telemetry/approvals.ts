// What the Activities around approvals tell: that arguments were checked, that a hook was told; names and counts alone.
import type { CheckArgumentsInput, CheckArgumentsResult, NotifyInput, NotifyResult } from '../../shared/activities.ts';
import { turnLabels, type Told, type Watched } from './watch.ts';

/** Watches the check of changed arguments; it has no span of its own. */
export function watchCheckArguments({ turn, callKey, server, tool }: CheckArgumentsInput): Watched {
  const labels = { ...turnLabels(turn), callKey, server, tool };
  return {
    what: 'check of changed arguments',
    labels,
    // Only this Activity's own result comes here.
    succeeded: (result) =>
      told('changed arguments checked', labels, { fit: !('problem' in (result as CheckArgumentsResult)) }),
  };
}

/** Watches the telling of a hook; it has no span of its own. */
export function watchNotify({ turn, event, calls }: NotifyInput): Watched {
  const labels = { ...turnLabels(turn), event };
  return {
    what: 'hook for approvals',
    labels,
    // Only this Activity's own result comes here.
    succeeded: (result) =>
      told(`calls ${event}`, labels, { calls: calls.length, hooks: (result as NotifyResult).hooks }),
  };
}

function told(message: string, labels: Watched['labels'], more: Watched['labels']): Told {
  return { attributes: {}, entries: [{ level: 'info', message, ...labels, ...more }], measurements: [] };
}
