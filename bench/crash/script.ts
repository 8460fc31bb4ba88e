// The turn of every trial: five parallel calls (a read, a write that honours no key, a write that does, a large result, a
// local read that is done first), then an answer that quotes all results. A later turn asks for one word more.
import type { ScriptedAnswer, ScriptedRequest } from '../../testing/scripted-model.ts';

/** The calls of the step, in order; the index is the call's place in its call key. */
export const STEP_CALLS = [
  { name: 'desk__clock', server: 'desk', tool: 'clock', effect: 'read' },
  { name: 'ledger__balance', server: 'ledger', tool: 'balance', effect: 'read' },
  { name: 'ledger__post', server: 'ledger', tool: 'post', effect: 'write' },
  { name: 'orders__place', server: 'orders', tool: 'place', effect: 'idempotent' },
  { name: 'ledger__archive', server: 'ledger', tool: 'archive', effect: 'read' },
] as const;

/** The large result: 640 KB of lines. */
export const ARCHIVE_TEXT = Array.from(
  { length: 8_000 },
  (_, line) =>
    `${String(line).padStart(6, '0')} The tide turned and the pilot boarded at the outer buoy twice a day.\n`,
).join('');

/** The key of the write that honours no idempotency keys. */
export const POST_KEY = callKeyOf('post');

/** The key of a call of the step. */
export function callKeyOf(tool: (typeof STEP_CALLS)[number]['tool']): string {
  return `t1/0/${STEP_CALLS.findIndex((call) => call.tool === tool)}`;
}

/** The spec of a trial's turn, on a model of that name. `isGated`: a person is asked before the ledger's `post`. */
export function specOf(model: string, isGated: boolean): Record<string, unknown> {
  const gated = (name: string): readonly string[] => (isGated && name === 'ledger' ? ['post'] : []);
  return {
    model: { name: `openai/${model}` },
    mcp_servers: ['desk', 'ledger', 'orders'].map((name) => ({
      name,
      preload: true,
      require_approval_for_tools: gated(name),
    })),
  };
}

/** What the model says to a request. */
export function answerTo({ messages }: ScriptedRequest): ScriptedAnswer {
  const last = messages.at(-1);
  if (last?.role === 'user' && messages.some(({ role }) => role === 'tool'))
    return { text: `heard ${messages.length}` };
  const results = messages.filter(({ role }) => role === 'tool');
  if (results.length === 0) return { toolCalls: STEP_CALLS.map(({ name }) => ({ name, arguments: {} })) };
  return { text: results.map(({ content }) => firstWords(content)).join('\n') };
}

/** The beginning of a result, as the answer quotes it. */
export function firstWords(content: unknown): string {
  return (typeof content === 'string' ? content : JSON.stringify(content)).slice(0, 60);
}
