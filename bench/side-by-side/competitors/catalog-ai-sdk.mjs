// The AI SDK's plain tool loop on a catalog: all tools of an MCP server, handed to `generateText`.
// Plain JavaScript: these modules are installed in this folder only, out of the type checker's sight.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { dynamicTool, generateText, isStepCount, jsonSchema } from 'ai';
import { serveRuns, settingOfProcess } from '../system-process.ts';
import { DONE, listTools } from './catalog-tools.mjs';

const { baseUrl, server } = settingOfProcess();
const provider = createOpenAICompatible({ name: 'scripted', baseURL: baseUrl, apiKey: 'none' });

serveRuns(async ({ model, text, limitMs }) => {
  const tools = Object.fromEntries(
    (await listTools(server)).map(({ name, description, inputSchema, call }) => [
      name,
      dynamicTool({ description, inputSchema: jsonSchema(inputSchema), execute: call }),
    ]),
  );
  await generateText({
    model: provider.chatModel(model),
    prompt: text,
    tools,
    stopWhen: isStepCount(20),
    abortSignal: AbortSignal.timeout(limitMs),
  });
  return DONE;
});
