// `deepagents` on a catalog: the agent as its README creates it, with all tools of an MCP server.
// Plain JavaScript: these modules are installed in this folder only, out of the type checker's sight.
import { ChatOpenAI } from '@langchain/openai';
import { createDeepAgent } from 'deepagents';
import { tool } from 'langchain';
import { serveRuns, settingOfProcess } from '../system-process.ts';
import { DONE, listTools } from './catalog-tools.mjs';

const { baseUrl, server } = settingOfProcess();

serveRuns(async ({ model, text, limitMs }) => {
  const tools = (await listTools(server)).map(({ name, description, inputSchema, call }) =>
    tool(call, { name, description, schema: inputSchema }),
  );
  const agent = createDeepAgent({
    model: new ChatOpenAI({
      model,
      apiKey: 'none',
      configuration: { baseURL: baseUrl },
      useResponsesApi: false,
      maxRetries: 0,
    }),
    tools,
  });
  await agent.invoke({ messages: [{ role: 'user', content: text }] }, { signal: AbortSignal.timeout(limitMs) });
  return DONE;
});
