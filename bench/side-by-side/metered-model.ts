// The scripted model of all systems, and what it sees of each run: when requests came, and how much they carried.
import { startScriptedModel, type ScriptedRequest } from '../../testing/scripted-model.ts';

/** What was seen of one run. */
export interface Meter {
  /** How many tool calls the model asks for before it is done. */
  readonly calls: number;
  /** When each request that offers the tool came, in milliseconds; a step lies between two of them. */
  readonly arrivals: number[];
  /** Characters of all requests: messages, tool calls and tool definitions. */
  characters: number;
  /** Requests without the tool: a system's own, to sum up what it drops. */
  summaries: number;
  /** The beginning of the last tool result that the model was shown. */
  lastResult: string;
  /** Characters of that result, as the model was shown it. */
  lastResultCharacters: number;
}

/** The model server. */
export interface MeteredModel {
  readonly baseUrl: string;
  /** Prepares a run under a model name of its own. */
  readonly plan: (model: string, calls: number) => Meter;
  readonly close: () => Promise<void>;
}

/** Starts a model that asks for one page a step, and then says `done`. */
export async function startMeteredModel(): Promise<MeteredModel> {
  const meters = new Map<string, Meter>();
  const server = await startScriptedModel((request, call) => {
    // Requests are kept by the server; hundreds of megabytes a run would be.
    (server.requests as ScriptedRequest[])[call] = { model: request.model, messages: [] };
    const meter = meters.get(request.model);
    if (!meter) throw new Error(`No run is planned for the model ${request.model}.`);
    return answer(meter, request);
  });
  return {
    baseUrl: server.baseUrl,
    close: server.close,
    plan(model, calls) {
      const meter = { calls, arrivals: [], characters: 0, summaries: 0, lastResult: '', lastResultCharacters: 0 };
      meters.set(model, meter);
      return meter;
    },
  };
}

function answer(meter: Meter, request: ScriptedRequest) {
  meter.characters += charactersOf(request);
  const name = request.tools?.find((tool) => /(^|__)fetch$/.test(tool.function.name))?.function.name;
  if (name === undefined) {
    meter.summaries += 1;
    return { text: 'Pages were read, one after another.' };
  }
  const last = textOf(request.messages.findLast((message) => message.role === 'tool')?.content);
  meter.lastResult = last.slice(0, 200);
  meter.lastResultCharacters = last.length;
  const page = meter.arrivals.push(performance.now()) - 1;
  if (page >= meter.calls) return { text: 'done' };
  return { toolCalls: [{ id: `call_${page}`, name, arguments: { page } }] };
}

function charactersOf(request: ScriptedRequest): number {
  let total = JSON.stringify(request.tools ?? []).length;
  for (const { content, tool_calls: calls } of request.messages) {
    total += textOf(content).length + (calls ? JSON.stringify(calls).length : 0);
  }
  return total;
}

function textOf(content: unknown): string {
  if (content === undefined || content === null) return '';
  return typeof content === 'string' ? content : JSON.stringify(content);
}
