// `deepagents` as a system: the agent as its README creates it, with a checkpointer on disk; one database a run.
// Plain JavaScript: these modules are installed in this folder only, out of the type checker's sight.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { ChatOpenAI } from '@langchain/openai';
import { createDeepAgent } from 'deepagents';
import { tool } from 'langchain';
import { z } from 'zod';
import { pageOf } from '../payload.ts';
import { serveRuns, settingOfProcess, wordsOf } from '../system-process.ts';
import { NodeDatabase } from './node-sqlite.mjs';

const { baseUrl, folder } = settingOfProcess();

serveRuns(async (request) => {
  const path = join(folder, `${request.id}.db`);
  const database = new NodeDatabase(path);
  const agent = createDeepAgent({
    model: new ChatOpenAI({
      model: request.model,
      apiKey: 'none',
      configuration: { baseURL: baseUrl },
      useResponsesApi: false,
    }),
    tools: [
      tool(({ page }) => pageOf(request, page), {
        name: 'fetch',
        description: 'One page.',
        schema: z.object({ page: z.number() }),
      }),
    ],
    checkpointer: new SqliteSaver(database),
  });
  const ending = await invoke(agent, request);
  const count = (table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get().n;
  const events = count('checkpoints') + count('writes');
  database.close();
  return { ...ending, recordBytes: (await stat(path)).size, events, elsewhereBytes: 0 };
});

async function invoke(agent, request) {
  const signal = AbortSignal.timeout(request.limitMs);
  const config = { configurable: { thread_id: request.id }, signal };
  try {
    await agent.invoke({ messages: [{ role: 'user', content: 'Go on.' }] }, config);
    return { ended: 'completed', how: '' };
  } catch (error) {
    if (signal.aborted) return { ended: 'timeout', how: `still running after ${request.limitMs / 1000} s` };
    return { ended: 'died', how: wordsOf(error) };
  }
}
