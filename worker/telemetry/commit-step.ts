// What a commit tells: the placements of its step, and with the last one of a turn the conventions' `invoke_agent` span.
import { SpanKind } from '@opentelemetry/api';
import type { CommitStepInput } from '../../shared/activities.ts';
import { placementTold } from './placements.ts';
import { modelAttributes, turnAttributes, turnLabels, type Told, type Watched } from './watch.ts';

/** Watches a commit. */
export function watchCommitStep(input: CommitStepInput): Watched {
  const labels = { ...turnLabels(input.turn), ...(input.commit && { step: input.commit.step }) };
  const closes = input.ended === undefined ? {} : invocationOf(input, input.ended);
  return { what: 'commit', labels, ...closes, succeeded: () => succeeded(input) };
}

function succeeded({ turn, commit, ended }: CommitStepInput): Told {
  const placed = placementTold(turn, commit);
  if (ended === undefined) return { attributes: {}, ...placed };
  const attributes = { 'longshore.turn.status': ended };
  return {
    attributes: {},
    entries: [...placed.entries, { level: 'info', message: 'turn ended', ...turnLabels(turn), status: ended }],
    measurements: [...placed.measurements, { metric: 'longshore.turns', value: 1, attributes }],
  };
}

/** The turn as one span. Turns of an older Workflow do not say when they began, and have none. */
function invocationOf({ turn, invocation }: CommitStepInput, ended: string): Pick<Watched, 'closes'> {
  if (!invocation) return {};
  const { agent, model, startedMs } = invocation;
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': agent,
    ...modelAttributes(model),
    ...turnAttributes(turn),
    'longshore.turn.status': ended,
  };
  const span = { name: `invoke_agent ${agent}`, kind: SpanKind.INTERNAL, attributes, startedMs };
  return { closes: { span, ...(ended !== 'completed' && { errorType: ended }) } };
}
