// One turn in which configured secrets turn up wherever they can: in what the model writes, in results, response headers and
// errors. Then everything that was written down is searched for them: logs, spans, metrics, history, files, output.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Resource } from '@opentelemetry/resources';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryPlugin,
} from '@temporalio/interceptors-opentelemetry';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT, startProcess, type CliEnd } from '../support/cli.ts';
import { startIndiscreetServer, type IndiscreetServer } from '../support/indiscreet-http-server.ts';
import { startModelServer, type ModelBehaviour, type ModelServer } from '../support/model-server.ts';
import { installOpenTelemetry, type MemoryTelemetry } from '../support/open-telemetry.ts';
import { historyText, toolTexts } from '../support/turn-history.ts';
import { createWorld, quietRuntime, type EndedTurn, type World } from '../support/turn-world.ts';

const ENV_SECRET = 'env-harbour-5f2c9e7d1a';
const HEADER_SECRET = 'hdr-"quoted"-lock-83b1';
const MODEL_SECRET = 'sk-model-4f9d2c1b7a6e5d8c';
const SECRETS = [ENV_SECRET, HEADER_SECRET, MODEL_SECRET, JSON.stringify(HEADER_SECRET).slice(1, -1)];
const ALL = `${ENV_SECRET} ${HEADER_SECRET} ${MODEL_SECRET}`;

/** A stdio server that shows the key it was started with: on stderr, in a result, in errors. */
const LEAKY_SERVER = `
  import { Server } from '@modelcontextprotocol/sdk/server/index.js';
  import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
  import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
  const key = process.env.HARBOUR_KEY;
  console.error('started with ' + key);
  console.log('not a message: ' + key);
  const server = new Server({ name: 'leaky', version: '1' }, { capabilities: { tools: {} }, instructions: 'Use ' + key });
  const tool = (name, readOnlyHint) => ({ name, description: key, inputSchema: { type: 'object' }, annotations: { readOnlyHint } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool('look', true), tool('write', false), tool('say', true)] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    console.error('called ' + params.name + ' with ' + key);
    if (params.name !== 'say') throw new Error('refused for ' + key);
    const link = { type: 'resource_link', uri: 'https://x.example/?k=' + key, name: key };
    return { content: [{ type: 'text', text: JSON.stringify({ key, args: params.arguments }) }, link] };
  });
  await server.connect(new StdioServerTransport());
`;

let telemetry: MemoryTelemetry;
let http: IndiscreetServer;
let model: ModelServer;
let world: World;
let turn: EndedTurn;
const written: { metrics: readonly MetricData[]; files: string; output: CliEnd[] } = {
  metrics: [],
  files: '',
  output: [],
};
const log: unknown[] = [];

beforeAll(async () => {
  quietRuntime(new DefaultLogger('TRACE', (entry) => log.push(entry)));
  telemetry = installOpenTelemetry();
  http = await startIndiscreetServer();
  model = await startModelServer(...behaviours());
  const otel = { resource: Resource.empty(), spanProcessor: telemetry.processor };
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('ERROR'),
    plugins: [new OpenTelemetryPlugin(otel)],
  });
  const leaky = {
    command: process.execPath,
    args: ['--input-type=module', '-e', LEAKY_SERVER],
    env: { HARBOUR_KEY: '${HARBOUR_KEY}' },
  };
  const indiscreet = { type: 'http', url: http.url, headers: { Authorization: 'Bearer ${LOCK_TOKEN}' } };
  world = await createWorld({
    plugin: { mcp: { mcpServers: { leaky, indiscreet, refusing: indiscreet } }, log: (entry) => log.push(entry) },
    extraEnv: {
      HARBOUR_KEY: ENV_SECRET,
      LOCK_TOKEN: HEADER_SECRET,
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: MODEL_SECRET,
    },
    worker: {
      workflowBundle,
      interceptors: { activity: [(context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) })] },
      sinks: { exporter: makeWorkflowExporter(otel.spanProcessor, otel.resource) },
    },
  });
  const servers = ['leaky', 'indiscreet', 'refusing'].map((name) => ({
    name,
    preload: true,
    require_approval_for_tools: [],
  }));
  turn = await world.run({ mcp_servers: servers });
  for (const args of [
    ['turns', 'show', turn.workflowId],
    ['turns', 'show', turn.workflowId, '--json'],
    ['files', 'list'],
  ]) {
    written.output.push(await longshore(args));
  }
  await world.worker.stop();
  written.metrics = await telemetry.metrics();
  written.files = await allFiles(world.folder);
});
afterAll(async () => {
  await world.close();
  await Promise.all([http.stop(), model.close(), telemetry.uninstall()]);
});

/** An error with the key in body and header; then calls whose arguments hold every secret, plainly and escaped; then a text. */
function behaviours(): readonly ModelBehaviour[] {
  const escaped = Array.from(ENV_SECRET)
    .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
  const call = (name: string) => ({ name, arguments: { note: ALL, [HEADER_SECRET]: [ALL] } });
  const names = ['leaky__look', 'leaky__write', 'indiscreet__tell', 'indiscreet__betray', 'refusing__refuse'];
  const toolCalls = [
    ...names.map(call),
    { name: 'leaky__say', arguments: `{"note":"${escaped}"}` },
    { name: `no-such-tool-${ENV_SECRET}`, arguments: { note: ALL } },
    { name: 'leaky__say', arguments: `{"note": ${ALL}` },
    { name: 'leaky__say', arguments: { note: 'a call with an id' }, id: `call-${MODEL_SECRET}` },
    { name: 'sandbox__write_file', arguments: { path: `/sandbox/${ENV_SECRET}.txt`, content: ALL } },
  ];
  const error = { error: { message: `Slow down, ${MODEL_SECRET}; ${ALL}`, type: ALL, code: ALL } };
  const headers = { 'x-request-id': MODEL_SECRET, 'retry-after-ms': '10' };
  return [
    { type: 'body', status: 429, body: error, headers },
    { type: 'answer', answer: { text: `I know ${ALL}`, reasoning: `Hm, ${ALL}`, toolCalls } },
    { type: 'answer', answer: { text: `The answer: ${ALL}` } },
  ];
}

function longshore(args: readonly string[]): Promise<CliEnd> {
  const env = { LONGSHORE_HOME: world.folder, TEMPORAL_ADDRESS: world.address };
  return startProcess([join(PROJECT, 'cli', 'main.ts'), ...args], { cwd: world.folder, env }).ended;
}

/** Names and bytes of every file below a folder. */
async function allFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.map(async (path) => `${path}\n${await readFile(path, 'latin1')}`));
  return texts.join('\n');
}

/** All that is text in a value, errors and what hangs on them included; each object once. */
function textsOf(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (seen.has(value)) return '';
  seen.add(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  const parts =
    value instanceof Map || value instanceof Set
      ? [...value]
      : Reflect.ownKeys(value).map((key) => [String(key), Reflect.get(value, key)]);
  return parts
    .flat()
    .map((part) => textsOf(part, seen))
    .join('\n');
}

describe('a turn full of configured secrets', () => {
  it('is the turn it should be: everybody got the real ones, and the model was told of the rest', () => {
    expect(turn.result.status).toBe('completed');
    expect(model.requests.map(({ headers }) => headers.authorization)).toEqual(
      Array.from({ length: 3 }, () => `Bearer ${MODEL_SECRET}`),
    );
    expect(new Set(http.seen.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${HEADER_SECRET}`]));
    const calls = turn.view.steps[0]?.toolCalls ?? [];
    expect(calls.map(({ outcome }) => outcome).join(' ')).toBe('error error ok error error ok error error ok ok');
    const texts = toolTexts(model.requests[2]?.body);
    const isRedacted = texts.map((text) => text.includes('[redacted]'));
    // What is told of arguments that are no JSON quotes none of them.
    expect(isRedacted).toEqual([true, true, true, true, true, true, true, false, true, true]);
  });

  it.each([
    ['log entry, of ours or of the SDK', () => textsOf(log), /attempt of a model call failed/],
    ['span, with its events', () => textsOf(telemetry.spans()), /execute_tool tell/],
    ['metric', () => textsOf(written.metrics), /longshore.tool.result.size/],
    ['payload or failure of the history', () => historyText(turn.history), /\[redacted\]/],
    ['file of the store or its name', () => written.files, /\[redacted\]/],
    ['output of the command line', () => textsOf(written.output), /leaky/],
    ['part of the result', () => JSON.stringify(turn.result), /\[redacted\]/],
    ['request to the model', () => JSON.stringify(model.requests.map(({ text }) => text)), /\[redacted\]/],
  ])('leaves none of them in any %s', (_what, text, proof) => {
    // That the right thing was searched.
    expect(text()).toMatch(proof);
    expect(SECRETS.filter((secret) => text().includes(secret))).toEqual([]);
  });
});
