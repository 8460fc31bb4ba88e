// A scripted model that does one task as a model would: where the tool is shown it calls it; where it is not, it searches, looks
// at the definition if a required argument is an object, and calls it by `call_tool`. It counts what each request carries, in
// the same way whoever asks.
import { countTokens } from '../../activities/measure.ts';
import { exposedNameOf } from '../../shared/exposed-names.ts';
import type { JsonObject } from '../../shared/json.ts';
import { startScriptedModel, type ScriptedMessage, type ScriptedRequest } from '../../testing/scripted-model.ts';
import type { ScriptedAnswer } from '../../testing/scripted-model-wire.ts';
import type { CatalogTask } from './catalog-tasks.ts';

/** What one run's requests were. */
export interface RunMeter {
  /** What each carried, to be counted when nothing is timed any more. */
  readonly requests: { readonly definitions: readonly string[]; readonly messages: readonly string[] }[];
  /** How many requests there were when the tool was called; 0 while it was not. */
  requestsBefore: number;
  /** Calls that only looked for the tool. */
  discovery: number;
  /** What each tool call was answered. */
  results: readonly string[];
}

/** The model server. */
export interface FindingModel {
  readonly baseUrl: string;
  /** Prepares a run under a model name of its own; without a task the model is done at once. */
  readonly plan: (model: string, server: string, task: CatalogTask | null) => RunMeter;
  /** What went wrong inside; empty when all is well. */
  readonly errors: readonly Error[];
  readonly close: () => Promise<void>;
}

/** Tokens of each request of a run. */
export interface RequestTokens {
  readonly all: number;
  /** Of the tool definitions alone. */
  readonly definitions: number;
}

const counted = new Map<string, Promise<number>>();

/** Counts what each request of a run carried. */
export async function tokensOf({ requests }: RunMeter): Promise<readonly RequestTokens[]> {
  const tokens: RequestTokens[] = [];
  for (const { definitions, messages } of requests) {
    // Each by itself: the same definitions come again and again.
    const [tools, said] = [await sum(definitions), await sum(messages)];
    tokens.push({ all: tools + said, definitions: tools });
  }
  return tokens;
}

async function sum(texts: readonly string[]): Promise<number> {
  let total = 0;
  for (const text of texts) {
    const known = counted.get(text) ?? countTokens(text, 2_000_000).then(({ tokens }) => tokens);
    counted.set(text, known);
    total += await known;
  }
  return total;
}

interface Plan {
  readonly task: CatalogTask | null;
  readonly server: string;
  readonly meter: RunMeter;
}

/** Starts it. */
export async function startFindingModel(): Promise<FindingModel> {
  const plans = new Map<string, Plan>();
  const model = await startScriptedModel((request, call) => {
    // Requests are kept by the server; these have megabytes of definitions.
    (model.requests as ScriptedRequest[])[call] = { model: request.model, messages: [] };
    const plan = plans.get(request.model);
    if (!plan) throw new Error(`No run is planned for the model ${request.model}.`);
    meterRequest(plan.meter, request);
    return answer(plan, request);
  });
  return {
    ...model,
    plan(name, server, task) {
      const meter: RunMeter = { requests: [], requestsBefore: 0, discovery: 0, results: [] };
      plans.set(name, { task, server, meter });
      return meter;
    },
  };
}

function meterRequest(meter: RunMeter, { tools = [], messages }: ScriptedRequest): void {
  meter.requests.push({
    definitions: tools.map((tool) => JSON.stringify(tool.function)),
    messages: messages.map(
      ({ content, tool_calls: calls }) => `${textOf(content)}${calls ? JSON.stringify(calls) : ''}`,
    ),
  });
  meter.results = messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content));
}

function answer(plan: Plan, { messages, tools = [] }: ScriptedRequest): ScriptedAnswer {
  const { meter, server, task } = plan;
  if (task === null) return { text: 'done' };
  const { tool, query, input } = task;
  const shown = tools.map((one) => one.function.name);
  const direct = [exposedNameOf({ server, tool }), tool].find((name) => shown.includes(name));
  const last = lastCall(messages);
  const call = (name: string, args: JsonObject): ScriptedAnswer => {
    if (name === direct || name === 'call_tool') meter.requestsBefore = meter.requests.length;
    else meter.discovery += 1;
    return { toolCalls: [{ name, arguments: args }] };
  };
  if (last === direct && last !== undefined) return { text: 'done' };
  if (last === 'call_tool') return { text: 'done' };
  if (direct !== undefined) return call(direct, input);
  if (last === undefined) return call('search_tools', { query });
  const asked = { mcp_server: server, tool_name: tool };
  if (last === 'get_tool_info') return call('call_tool', { ...asked, input });
  const line = (meter.results.at(-1) ?? '').split('\n').find((one) => one.startsWith(`${tool}(`));
  if (line === undefined)
    throw new Error(`"${query}" did not find ${tool} of ${server}: ${meter.results.at(-1) ?? ''}`);
  return needsLook(line, tool) ? call('get_tool_info', asked) : call('call_tool', { ...asked, input });
}

/** Whether a required argument is an object, which the line of a hit does not describe. */
function needsLook(line: string, tool: string): boolean {
  const args = line.slice(tool.length + 1).split(/\) — /)[0] ?? '';
  return args.split(', ').some((one) => /^\w+: .*object/.test(one));
}

function lastCall(messages: readonly ScriptedMessage[]): string | undefined {
  return messages.findLast(({ tool_calls: calls }) => (calls?.length ?? 0) > 0)?.tool_calls?.at(-1)?.function.name;
}

function textOf(content: unknown): string {
  if (content === undefined || content === null) return '';
  return typeof content === 'string' ? content : JSON.stringify(content);
}
