// What the server reads of a request in the form of OpenAI's chat completions. Whatever it cannot do is refused with words
// that say so, never passed over.
import { z } from 'zod';

const textParts = z
  .array(z.object({ type: z.literal('text'), text: z.string() }))
  .transform((parts) => parts.map(({ text }) => text).join('\n'));

const content = z.union([z.string(), textParts]);

const toolCall = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content: content.nullish().transform((text) => text ?? ''),
    tool_calls: z.array(toolCall).default([]),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().regex(/^[\w-]{1,64}$/),
    description: z.string().default(''),
    parameters: z.record(z.string(), z.unknown()).default({ type: 'object' }),
  }),
});

const request = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z
    .array(tool)
    .default([])
    .transform((tools) => tools.map((entry) => entry.function)),
  temperature: z.number().min(0).max(2).default(0),
  seed: z.int().min(0).default(0),
  stream: z.literal(true, 'This server streams its answers only.'),
});

/** A request: messages as text, tools without their wrapping. Temperature and seed are 0 where none is named. */
export type ChatRequest = z.infer<typeof request>;

/** A tool on offer. `parameters` is its JSON Schema. */
export type OfferedTool = ChatRequest['tools'][number];

/** Reads a body. @throws an `Error` that says where it is not as this server needs it. */
export function parseChatRequest(body: string): ChatRequest {
  const parsed = request.safeParse(parseJson(body));
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  return parsed.data;
}

/** The names of the tools called since the user's last words, in the order of the calls. */
export function toolsCalled({ messages }: ChatRequest): readonly string[] {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  return turn.flatMap((entry) =>
    entry.role === 'assistant' ? entry.tool_calls.map((call) => call.function.name) : [],
  );
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error('The body is not JSON.');
  }
}
