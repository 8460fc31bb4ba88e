// The tool by which an agent asks a person. It is few words, since they are sent with every request. Source: parity page.
import { ASK_USER_QUESTION } from './sandbox-tools.ts';
import type { ToolDefinition } from './tool-server.ts';

/** As the catalog has it; the Workflow answers it, no Activity does. */
export const ASK_USER_QUESTION_TOOL: ToolDefinition = {
  name: ASK_USER_QUESTION,
  description: 'Asks the user and waits for the answer. Only for what no tool can tell you and you cannot decide.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 4_000 },
      options: { type: 'array', items: { type: 'string', maxLength: 200 }, maxItems: 5 },
    },
    required: ['question'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};
