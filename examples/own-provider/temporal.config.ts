// Settings with a model provider of one's own: another server that speaks OpenAI's chat completions, with its own key.
// `model.name: local/qwen3` in a spec then uses it.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { defineConfig } from 'longshore';

export default defineConfig({
  providers: {
    local: ({ model, env }) =>
      createOpenAICompatible({
        name: 'local',
        baseURL: env['LOCAL_MODEL_URL'] ?? 'http://127.0.0.1:11434/v1',
        includeUsage: true,
        ...(env['LOCAL_MODEL_KEY'] !== undefined && { apiKey: env['LOCAL_MODEL_KEY'] }),
      })(model),
  },
  prices: {
    // US dollars for a million tokens; for `config.budgets.cost_usd`.
    'local/qwen3': { inputPerMillionUsd: 0, outputPerMillionUsd: 0 },
  },
});
