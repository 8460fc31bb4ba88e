// The Activities over a store of their own and real servers whose lists of tools the test writes: for tests of what a turn
// knows of tools.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { onTestFinished } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { createActivities } from '../../activities/index.ts';
import { createMcpPool } from '../../activities/mcp/pool.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { SpecServer } from '../../shared/agent-spec.ts';
import type { CallToolInput, LongshoreActivities, TurnIdentity } from '../../shared/activities.ts';
import type { Catalog } from '../../shared/catalog.ts';
import type { BlobRef, FileStore } from '../../shared/file-store.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { McpServerConfig } from '../../shared/mcp-config.ts';
import type { ModelAnswer, ModelRequest } from '../../shared/model.ts';

/** A server as a test begins with it. */
export interface ListedServer {
  readonly tools: readonly Tool[];
  readonly instructions?: string;
  /** As configured. */
  readonly description?: string;
}

/** The place. */
export interface CatalogWorld {
  readonly store: FileStore;
  readonly turn: TurnIdentity;
  /** What the model was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** Runs an Activity as its first attempt. */
  run<Name extends keyof LongshoreActivities>(
    name: Name,
    input: Parameters<LongshoreActivities[Name]>[0],
  ): ReturnType<LongshoreActivities[Name]>;
  /** The model answers this next. */
  answer(answer: Partial<ModelAnswer>): void;
  /** What the server offers from now on; it says nothing of it. */
  offer(server: string, listed: Omit<ListedServer, 'description'>): Promise<void>;
  /** What the server was asked: `started`, `listed`, `called NAME`. */
  asked(server: string): Promise<readonly string[]>;
  catalog(ref: BlobRef): Promise<Catalog>;
}

/** What a test varies. */
export interface CatalogWorldOptions {
  /** Beside the servers that the test writes. */
  readonly configured?: Readonly<Record<string, McpServerConfig>>;
  readonly store?: (store: FileStore) => FileStore;
  readonly dependencies?: Partial<ActivityDependencies>;
}

/** Makes the place; it is gone when the test has ended. */
export async function createCatalogWorld(
  servers: Readonly<Record<string, ListedServer>>,
  options: CatalogWorldOptions = {},
): Promise<CatalogWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-catalogs-'));
  const toolsFile = (server: string): string => join(folder, `${server}.json`);
  const recordFile = (server: string): string => join(folder, `${server}.log`);
  const own = createLocalStore({ folder: join(folder, 'store'), namespace: 'default' });
  const store = options.store?.(own) ?? own;
  const configs: Record<string, McpServerConfig> = { ...options.configured };
  for (const [name, { description, ...listed }] of Object.entries(servers)) {
    await writeFile(toolsFile(name), JSON.stringify(listed));
    await writeFile(recordFile(name), '');
    configs[name] = {
      type: 'stdio',
      command: process.execPath,
      args: [fileURLToPath(new URL('./mcp-list-server.ts', import.meta.url))],
      env: { TOOLS_FILE: toolsFile(name), RECORD_FILE: recordFile(name) },
      ...(description !== undefined && { description }),
    };
  }
  const pool = createMcpPool({ config: { source: 'mcp.json', servers: configs }, log: () => {} });
  onTestFinished(async () => {
    await pool.close();
    await rm(folder, { recursive: true, force: true });
  });
  const requests: ModelRequest[] = [];
  const answers: Partial<ModelAnswer>[] = [];
  const activities = createActivities({
    store,
    pool,
    askModel: async (request) => {
      requests.push(request);
      const answer = answers.shift();
      if (!answer) throw new Error('The model was asked once more than the test says');
      return whole(answer);
    },
    prices: {},
    localServers: [],
    redact: (text) => text,
    redactBytes: (bytes) => bytes,
    ...options.dependencies,
  });
  return {
    store,
    turn: { workflowId: 'turn-1', session: 'session-1', turn: 1 },
    requests,
    run: <Name extends keyof LongshoreActivities>(name: Name, input: Parameters<LongshoreActivities[Name]>[0]) => {
      const environment = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
      const activity = activities[name] as (given: unknown) => Promise<never>;
      // An Activity gives what its name says.
      return environment.run(activity, input) as unknown as ReturnType<LongshoreActivities[Name]>;
    },
    answer: (answer) => void answers.push(answer),
    offer: async (server, listed) => writeFile(toolsFile(server), JSON.stringify(listed)),
    asked: async (server) => (await readFile(recordFile(server), 'utf8')).split('\n').filter((line) => line !== ''),
    catalog: async ({ sha256 }) => JSON.parse(Buffer.from(await store.readBlob(sha256)).toString('utf8')) as Catalog,
  };
}

function whole(answer: Partial<ModelAnswer>): ModelAnswer {
  const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
  return { text: '', reasoning: [], toolCalls: [], finishReason: 'stop', usage, modelName: 'scripted', ...answer };
}

/** A server of the spec; deferred unless the test says otherwise. */
export function specServer(name: string, more: Partial<SpecServer> = {}): SpecServer {
  return {
    name,
    enable_tools: ['@all'],
    disable_tools: [],
    preload: false,
    preload_tools: [],
    require_approval_for_tools: [],
    tool_settings: {},
    ...more,
  };
}

/** A tool as a server lists it, with string arguments. */
export function listedTool(name: string, args: readonly string[] = [], more: Partial<Tool> = {}): Tool {
  const properties = Object.fromEntries(args.map((arg) => [arg, { type: 'string' }]));
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties, required: [...args] },
    ...more,
  };
}

/** So many tools that no rule takes them for few. */
export function manyTools(count = 40): readonly Tool[] {
  return Array.from({ length: count }, (_, index) => listedTool(`tool_${index}`, ['first', 'second', 'third']));
}

/** A call's input with what a test rarely varies. */
export function callInput(
  { turn }: Pick<CatalogWorld, 'turn'>,
  [server, tool]: readonly [string, string],
  more: Partial<CallToolInput> = {},
): CallToolInput {
  const args: JsonObject = {};
  return {
    turn,
    callKey: 't1/0/0',
    server,
    tool,
    arguments: args,
    schemaHash: '',
    effect: 'read',
    generation: 0,
    perResultTokens: 6_000,
    previewCharacters: 100,
    imageTokens: 1_000,
    ...more,
  };
}
