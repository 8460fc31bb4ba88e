// The discovery tools over real catalogs: how long an index takes and how much memory, how long a search takes, and how many
// tokens the answers have beside all definitions. Each catalog runs in a process of its own.
// `node bench/catalog-search.ts [--json] [--catalog slack|stripe|ec2|kubernetes]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { searchIndexOf } from '../activities/discovery/search-index.ts';
import { callDiscoveryTool } from '../activities/discovery/server.ts';
import { closeMeasure, countTokens } from '../activities/measure.ts';
import type { JsonObject } from '../shared/json.ts';
import { API_FILES, apiCatalog, type ApiName } from './lib/api-catalogs.ts';
import { median, table } from './lib/stats.ts';

/** What one catalog came to; times in milliseconds, memory in MB of 1,000,000 bytes of heap. */
interface Outcome {
  readonly catalog: string;
  readonly tools: number;
  readonly leftOut: number;
  readonly definitionTokens: number;
  readonly listMs: number;
  readonly catalogMb: number;
  readonly indexMs: number;
  readonly longestTurnMs: number;
  readonly indexMb: number;
  readonly searchMs: number;
  readonly p95SearchMs: number;
  readonly firstSearchMs: number;
  readonly searchTokens: number;
  readonly pages: number;
  readonly largestInfoTokens: number;
  readonly largestAnswerTokens: number;
  /** Of the tasks, those whose tool was among the first hits. */
  readonly found: string;
}

/** What a user might want, and the beginning of the names of tools that do it. */
const TASKS: Readonly<Record<ApiName, readonly (readonly [query: string, tool: RegExp])[]>> = {
  slack: [
    ['send a message to a channel', /^chat-pst-message/],
    ['list the members of a channel', /^conversations-members/],
    ['upload a file', /^files-upload/],
    ['set a reminder', /^reminders-add/],
    ['find a user by email', /^usrs-lookup-by-email$/],
  ],
  stripe: [
    ['refund a charge', /refund/],
    ['create a customer', /^pst-(customers|cstmrs)$/],
    ['list invoices', /^get-invoices$/],
    ['cancel a subscription', /^del-.*(subscription|sbscrptn)/],
    ['create a coupon', /^pst-coupons$/],
  ],
  ec2: [
    ['terminate an instance', /terminate-instances$/],
    ['start virtual machines', /(start|run)-instances$/],
    ['create a security group', /crt-security-grp|create-security-group/],
    ['allocate an elastic ip address', /allocate-address$/],
    ['make a snapshot of a volume', /crt-snapshots?$|create-snapshots?$/],
  ],
  kubernetes: [
    ['scale a deployment', /deployment-scale$/],
    ['read the log of a pod', /pod-log$/],
    ['delete a namespace', /^del-core-v1-namespace$/],
    ['list nodes', /^lst-core-v1-node$/],
    ['delete a cron job', /^del-batch-v1-namespaced-cron-job$/],
  ],
};
const ROUNDS = 40;
const FIRST_HITS = 8;

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, catalog: { type: 'string' }, child: { type: 'string' } },
});
if (values.child !== undefined) console.log(JSON.stringify(await run(nameOf(values.child))));
else await report();

async function report(): Promise<void> {
  const names = values.catalog === undefined ? (Object.keys(API_FILES) as ApiName[]) : [nameOf(values.catalog)];
  const outcomes: Outcome[] = [];
  for (const name of names) outcomes.push(await inProcess(name));
  if (values.json) return console.log(JSON.stringify(outcomes, null, 2));
  const rows = Object.keys(outcomes[0] ?? {}).map((key) => [
    key,
    ...outcomes.map((outcome) => {
      const value = outcome[key as keyof Outcome];
      return typeof value === 'number' ? Number(value.toFixed(1)).toLocaleString('en-US') : value;
    }),
  ]);
  console.log(table(rows.slice(0, 1)[0] ?? [], rows.slice(1)));
}

function nameOf(given: string): ApiName {
  if (Object.hasOwn(API_FILES, given)) return given as ApiName;
  throw new Error(`There is no catalog ${given}. There are: ${Object.keys(API_FILES).join(', ')}.`);
}

/** A heap of its own, so that memory is that of one catalog. */
async function inProcess(name: ApiName): Promise<Outcome> {
  const child = spawn(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), '--child', name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`The process of ${name} ended with code ${String(code)}.`);
  return JSON.parse(printed) as Outcome;
}

async function run(name: ApiName): Promise<Outcome> {
  await countTokens('the vocabulary is loaded');
  const before = heapMb();
  const { catalog, listMs, problems } = await apiCatalog(name);
  const listed = heapMb();
  const { index, indexMs, longestTurnMs } = await timedIndex(catalog);
  const indexed = heapMb();
  const ask = async (tool: string, args: JsonObject): Promise<string> =>
    (await callDiscoveryTool(tool, args, { catalogs: [catalog] })).text;
  const { times, answers, found } = await searches(name, ask, index);
  const { pages, texts } = await allPages(name, ask);
  const largest = catalog.tools.toSorted((a, b) => size(b.inputSchema) - size(a.inputSchema))[0]?.tool ?? '';
  const info = await ask('get_tool_info', { mcp_server: name, tool_name: largest });
  const tokens = await Promise.all([...answers, ...texts, info].map(tokensOf));
  const definitions = catalog.tools.map(({ exposedName, description, inputSchema }) =>
    JSON.stringify({ name: exposedName, description, parameters: inputSchema }),
  );
  const definitionTokens = await definitions.reduce(
    async (sum, text) => (await sum) + (await tokensOf(text)),
    Promise.resolve(0),
  );
  await closeMeasure();
  return {
    catalog: name,
    tools: catalog.tools.length,
    leftOut: problems,
    definitionTokens,
    listMs,
    catalogMb: listed - before,
    indexMs,
    longestTurnMs,
    indexMb: indexed - listed,
    searchMs: median(times),
    p95SearchMs: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0,
    firstSearchMs: times[0] ?? 0,
    searchTokens: median(tokens.slice(0, answers.length)),
    pages,
    largestInfoTokens: tokens.at(-1) ?? 0,
    largestAnswerTokens: Math.max(...tokens),
    found: `${found} of ${TASKS[name].length}`,
  };
}

type Index = Awaited<ReturnType<typeof searchIndexOf>>;

async function timedIndex(
  catalog: Awaited<ReturnType<typeof apiCatalog>>['catalog'],
): Promise<{ readonly index: Index; readonly indexMs: number; readonly longestTurnMs: number }> {
  let longestTurnMs = 0;
  let last = performance.now();
  const pulse = setInterval(() => {
    longestTurnMs = Math.max(longestTurnMs, performance.now() - last);
    last = performance.now();
  }, 1);
  const start = performance.now();
  const index = await searchIndexOf(JSON.stringify([[catalog.server, catalog.hash]]), catalog.tools);
  const indexMs = performance.now() - start;
  clearInterval(pulse);
  return { index, indexMs, longestTurnMs };
}

/** Search alone is timed on the index; the answers are those of the tool. */
async function searches(
  name: ApiName,
  ask: (tool: string, args: JsonObject) => Promise<string>,
  index: Index,
): Promise<{ readonly times: number[]; readonly answers: readonly string[]; readonly found: number }> {
  const times: number[] = [];
  const answers: string[] = [];
  let found = 0;
  for (const [query, tool] of TASKS[name]) {
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      index.search(query);
      times.push(performance.now() - start);
    }
    const answer = await ask('search_tools', { query, mcp_server: name, limit: FIRST_HITS });
    answers.push(answer);
    const names = answer
      .split('\n')
      .slice(1)
      .map((line) => line.split('(')[0] ?? '');
    if (names.some((shown) => tool.test(shown))) found += 1;
    else console.error(`${name}: "${query}" found ${names.join(', ')}`);
  }
  return { times, answers, found };
}

async function allPages(
  name: ApiName,
  ask: (tool: string, args: JsonObject) => Promise<string>,
): Promise<{ readonly pages: number; readonly texts: readonly string[] }> {
  const texts: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page: string = await ask('list_tools', { mcp_server: name, cursor });
    texts.push(page);
    cursor = /Next page: cursor "([^"]+)"/.exec(page)?.[1];
  }
  return { pages: texts.length, texts };
}

async function tokensOf(text: string): Promise<number> {
  return (await countTokens(text, 1_000_000)).tokens;
}

function size(value: unknown): number {
  return JSON.stringify(value).length;
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}
