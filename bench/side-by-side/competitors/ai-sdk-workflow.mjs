// The Workflow of `@temporalio/ai-sdk`: the AI SDK's own loop, its model calls Activities, its tool an Activity.
// Plain JavaScript: these modules are installed in this folder only, out of the type checker's sight.
import { temporalProvider } from '@temporalio/ai-sdk/workflow';
import { proxyActivities } from '@temporalio/workflow';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';

const { aiSdkPage } = proxyActivities({ startToCloseTimeout: '1m' });

/** One turn, up to 10,000 steps. */
export async function aiSdkTurn(model) {
  const { text } = await generateText({
    model: temporalProvider.languageModel(model),
    prompt: 'Go on.',
    tools: {
      fetch: tool({
        description: 'One page.',
        inputSchema: z.object({ page: z.number() }),
        execute: ({ page }) => aiSdkPage(page),
      }),
    },
    stopWhen: isStepCount(10_000),
  });
  return text;
}
