// The tool by which an agent asks a person. It is few words, since they are sent with every request. Source: parity page.
import { ASK_USER_QUESTION } from './sandbox-tools.ts';
import type { ToolDefinition } from './tool-server.ts';

/** As the catalog has it; the Workflow answers it, no Activity does. */
export const ASK_USER_QUESTION_TOOL: ToolDefinition = {
  name: ASK_USER_QUESTION,
  description: 'Asks the user what no tool can tell you, and waits.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string' },
      options: { type: 'array', items: { type: 'string' }, maxItems: 5 },
    },
    required: ['question'],
  },
  annotations: { readOnlyHint: true },
};
