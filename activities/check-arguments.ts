// The Activity `longshoreCheckArguments`: whether the arguments that a person puts in place of the model's fit the tool's
// schema, as the turn's catalog has it.
import { runAttempt } from './attempt.ts';
import type { TurnServices } from './call-model.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { validateArguments } from './model/tool-calls.ts';
import type { CheckArgumentsInput, CheckArgumentsResult } from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';

/** Arguments above this go through history by reference. */
const INLINE_ARGUMENT_BYTES = 8 * 1024;

/** Makes the Activity. */
export function createCheckArguments(
  { store, redact }: ActivityDependencies,
  { catalogs }: TurnServices,
): (input: CheckArgumentsInput) => Promise<CheckArgumentsResult> {
  return (input) =>
    runAttempt(redact, async (): Promise<CheckArgumentsResult> => {
      const { server, tool, arguments: args } = input;
      const { tools } = await catalogs(input.catalog);
      const found = tools.find((candidate) => candidate.server === server && candidate.tool === tool);
      if (!found) return { problem: `the turn's catalog has no tool \`${tool}\` of server \`${server}\`` };
      const problem = validateArguments(found.inputSchema, args);
      if (problem !== null) return { problem };
      const argumentsDigest = digestOf([server, tool, args]);
      const bytes = Buffer.from(JSON.stringify(args));
      if (bytes.length <= INLINE_ARGUMENT_BYTES) return { argumentsDigest };
      return { argumentsDigest, argumentsRef: await store.putBlob(bytes) };
    });
}
