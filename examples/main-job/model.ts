// The scripted model of the main job, served over HTTP in the form of OpenAI's chat completions.
// A result that is not as the script expects ends the run: asking again would not mend it.
import { startScriptedModel } from '../../testing/index.ts';
import { mainJobScript } from './script.ts';

/** A model that runs. */
export type ExampleModel = Awaited<ReturnType<typeof startScriptedModel>>;

/**
 * Starts the model on a free port of the loopback address.
 * Contract: `onFault` is called once, with the first error of the script; the request is answered with status 500.
 */
export async function startExampleModel(onFault: (error: Error) => void): Promise<ExampleModel> {
  let isFaulty = false;
  return startScriptedModel(async (request, call) => {
    try {
      return await mainJobScript(request, call);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (!isFaulty) onFault(error);
      isFaulty = true;
      throw error;
    }
  });
}
