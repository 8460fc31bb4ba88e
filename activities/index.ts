// All Activities of a Worker, under their names on the wire.
import { createCallModel, createTurnServices } from './call-model.ts';
import { createCallTool } from './call-tool.ts';
import { createCommitStep } from './commit-step.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { createListTools } from './list-tools.ts';
import type { LongshoreActivities } from '../shared/activities.ts';

/** Makes the Activities over one set of dependencies. */
export function createActivities(dependencies: ActivityDependencies): LongshoreActivities {
  const services = createTurnServices(dependencies);
  return {
    longshoreListTools: createListTools(dependencies),
    longshoreCallModel: createCallModel(dependencies, services),
    longshoreCallTool: createCallTool(dependencies),
    longshoreCommitStep: createCommitStep(dependencies, services),
  };
}
