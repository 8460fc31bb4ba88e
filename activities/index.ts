// All Activities of a Worker, under their names on the wire.
import { createPresentTools } from './catalogs/present-tools.ts';
import { createCallModel, createTurnServices } from './call-model.ts';
import { createCallTool } from './call-tool.ts';
import { createCheckArguments } from './check-arguments.ts';
import { createCommitStep } from './commit-step.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { createJudgeCall } from './judge-call.ts';
import { createListTools } from './list-tools.ts';
import { createLoadCatalog } from './load-catalog.ts';
import { createNotify } from './notify.ts';
import { createVerifyFiles } from './verify-files.ts';
import { createRetentionActivities } from './retention/index.ts';
import type { LongshoreActivities } from '../shared/activities.ts';
import type { RetentionActivities } from '../shared/sweep.ts';

/** Makes the Activities over one set of dependencies. */
export function createActivities(dependencies: ActivityDependencies): LongshoreActivities & RetentionActivities {
  const services = createTurnServices(dependencies);
  const present = createPresentTools(dependencies);
  return {
    ...createRetentionActivities(dependencies),
    longshoreListTools: createListTools(dependencies, present),
    longshoreLoadCatalog: createLoadCatalog(dependencies, present),
    longshoreCallModel: createCallModel(dependencies, services),
    longshoreCallTool: createCallTool(dependencies, { present, readCatalog: services.catalogs }),
    longshoreCommitStep: createCommitStep(dependencies, services),
    longshoreVerifyFiles: createVerifyFiles(dependencies),
    longshoreCheckArguments: createCheckArguments(dependencies, services),
    longshoreJudgeCall: createJudgeCall(dependencies, services.catalogs),
    longshoreNotify: createNotify(dependencies),
  };
}
