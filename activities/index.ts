// All Activities of a Worker, under their names on the wire.
import { createCallModel, createTurnServices } from './call-model.ts';
import { createCallTool } from './call-tool.ts';
import { createCheckArguments } from './check-arguments.ts';
import { createCommitStep } from './commit-step.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { createListTools } from './list-tools.ts';
import { createNotify } from './notify.ts';
import { createVerifyFiles } from './verify-files.ts';
import { createRetentionActivities } from './retention/index.ts';
import type { LongshoreActivities } from '../shared/activities.ts';
import type { RetentionActivities } from '../shared/sweep.ts';

/** Makes the Activities over one set of dependencies. */
export function createActivities(dependencies: ActivityDependencies): LongshoreActivities & RetentionActivities {
  const services = createTurnServices(dependencies);
  return {
    ...createRetentionActivities(dependencies),
    longshoreListTools: createListTools(dependencies),
    longshoreCallModel: createCallModel(dependencies, services),
    longshoreCallTool: createCallTool(dependencies),
    longshoreCommitStep: createCommitStep(dependencies, services),
    longshoreVerifyFiles: createVerifyFiles(dependencies),
    longshoreCheckArguments: createCheckArguments(dependencies, services),
    longshoreNotify: createNotify(dependencies),
  };
}
