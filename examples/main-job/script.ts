// What the scripted model does: the steps of the main job, one function a step. It decides what to ask, as a model would;
// every path, name and number in a call or in the answer comes from the question or from results of this turn.
import type { ScriptedModel } from '../../testing/index.ts';
import { conversationOf, resultOf, type Conversation } from './conversation.ts';
import {
  columnIn,
  firstLineIn,
  jsonIn,
  keyOfLargest,
  largestMapIn,
  lengthIn,
  linesIn,
  matchesIn,
  meanOf,
  nameIn,
  numberAt,
  objectAt,
  pathIn,
  reportsFolderIn,
  rowsIn,
  textAt,
  writtenIn,
} from './reading.ts';

type Answer = Awaited<ReturnType<ScriptedModel>>;
type Call = NonNullable<Answer['toolCalls']>[number];

const READ = 'fs__read_text_file';
const SCHEMA = 'sandbox__infer_schema';
const QUERY = 'sandbox__query_json';
const SEARCH = 'sandbox__search_file';
const RANGE = 'sandbox__read_file';
const FOLDERS = 'fs__list_allowed_directories';
const WRITE = 'fs__write_file';

const WIDELY_USABLE_PERCENT = 95;
const MONTHS = 12;

/** The scripted model. Raises an error when a result is not as expected. */
export const mainJobScript: ScriptedModel = (request) => {
  const conversation = conversationOf(request);
  const step = STEPS[conversation.steps.length];
  if (!step) throw new Error(`The script ends after ${STEPS.length} steps, and this is one more.`);
  const answer = step(conversation);
  for (const { name } of answer.toolCalls ?? []) {
    if (conversation.tools.includes(name)) continue;
    throw new Error(`The tool ${name} is not on offer. There are: ${conversation.tools.join(', ')}.`);
  }
  return answer;
};

const STEPS: readonly ((conversation: Conversation) => Answer)[] = [
  readFiles,
  inferSchemas,
  lookCloser,
  countFeatures,
  followUp,
  writeReport,
  answerQuestions,
];

/** The four files of the question, all at once. */
function readFiles({ question }: Conversation): Answer {
  const paths = [...question.matchAll(/[\w.-]+\/[\w./-]*\.(?:json|csv)\b/g)].map(([path]) => path);
  return {
    text: `I read the ${paths.length} files.`,
    toolCalls: paths.map((path) => ({ name: READ, arguments: { path } })),
  };
}

/** Pointers came back: what shape do the files behind them have? */
function inferSchemas(conversation: Conversation): Answer {
  const { features, emoji, airports, air } = filesOf(conversation);
  return {
    text: 'The results are too large for my context, so I look at their shape first.',
    toolCalls: [features, emoji, airports, air].map((path) => ({ name: SCHEMA, arguments: { path } })),
  };
}

/** One feature in full; counts over emoji and airports; both ends of the measurements. */
function lookCloser(conversation: Conversation): Answer {
  const { features, emoji, airports, air } = filesOf(conversation);
  const map = largestMapIn(schemaOf(conversation, features));
  const version = nameIn(schemaOf(conversation, emoji), 'version');
  const state = nameIn(schemaOf(conversation, airports), 'state');
  const lines = rowsIn(schemaOf(conversation, air)) + 1;
  return {
    toolCalls: [
      { name: SCHEMA, arguments: { path: features, pointer: `/${map.key}/${map.example}` } },
      query(emoji, `{"emoji": $count($), "newest": $max(\`${version}\`)}`),
      query(airports, `{"airports": $count($), "states": \${\`${state}\`: $count(\`${state}\`)}}`),
      range(air, 2, MONTHS),
      range(air, lines - MONTHS + 1, MONTHS),
    ],
  };
}

/** Now the names in a feature are known: how many features of each status are there? */
function countFeatures(conversation: Conversation): Answer {
  const { features, emoji, airports } = filesOf(conversation);
  const map = largestMapIn(schemaOf(conversation, features));
  const status = nameIn(resultOf(conversation, SCHEMA, features, `/${map.key}/${map.example}`), 'status');
  const names = nameIn(schemaOf(conversation, features), 'statuses');
  const { newest } = emojiCounts(conversation, emoji);
  const { state } = airportCounts(conversation, airports);
  return {
    toolCalls: [
      query(
        features,
        `{"features": $count($keys(\`${map.key}\`)), "statuses": \`${map.key}\`.*{\`${status}\`: $count(\`${status}\`)}, "names": \`${names}\`}`,
      ),
      query(
        emoji,
        `{"count": $count($[\`version\` = ${newest}]), "labels": $join($[\`version\` = ${newest}].\`label\`, ", ")}`,
      ),
      { name: SEARCH, arguments: { path: airports, pattern: `,${state},`, literal: true, max_matches: 1 } },
    ],
  };
}

/** The most common status is known, and the line of an airport; and where may a report go? */
function followUp(conversation: Conversation): Answer {
  const { features, airports } = filesOf(conversation);
  const map = largestMapIn(schemaOf(conversation, features));
  const feature = resultOf(conversation, SCHEMA, features, `/${map.key}/${map.example}`);
  const { status } = featureCounts(conversation, features);
  const where = `\`${nameIn(feature, 'status')}\` = ${JSON.stringify(status)} and \`${nameIn(feature, 'usage_perc_y')}\` >= ${WIDELY_USABLE_PERCENT}`;
  return {
    toolCalls: [
      query(features, `{"usable": $count(\`${map.key}\`.*[${where}])}`),
      range(airports, firstLineIn(resultOf(conversation, SEARCH, airports)), 1),
      { name: FOLDERS, arguments: {} },
    ],
  };
}

/** All is read: the report, which waits for a person. Without a folder for it the answer comes at once. */
function writeReport(conversation: Conversation): Answer {
  const folder = reportsFolderIn(resultOf(conversation, FOLDERS));
  if (folder === null) return answerQuestions(conversation);
  const content = ['# Four questions about data files', '', ...answerLines(conversation), ''].join('\n');
  return {
    text: 'All figures are there. I write them into the report now.',
    toolCalls: [{ name: WRITE, arguments: { path: `${folder}/report.md`, content } }],
  };
}

/** The answer, and what became of the report. */
function answerQuestions(conversation: Conversation): Answer {
  return { text: [...answerLines(conversation), reportLine(conversation)].join('\n') };
}

function answerLines(conversation: Conversation): readonly string[] {
  const { features, emoji, airports, air } = filesOf(conversation);
  return [
    `1. ${featuresAnswer(conversation, features)}`,
    `2. ${emojiAnswer(conversation, emoji)}`,
    `3. ${airportsAnswer(conversation, airports)}`,
    `4. ${airAnswer(conversation, air)}`,
  ];
}

/** In the words of the tool, or of the person who denied it. */
function reportLine({ steps }: Conversation): string {
  const write = steps.flat().find(({ name }) => name === WRITE);
  if (!write) return 'There is no report: no folder named `reports` is allowed.';
  const written = writtenIn(write.result);
  return written === null
    ? `There is no report: ${write.result.trim().split('\n')[0] ?? ''}`
    : `The report is in ${written}.`;
}

function featuresAnswer(conversation: Conversation, path: string): string {
  const { total, count, name } = featureCounts(conversation, path);
  const usable = numberAt(jsonIn(lastQuery(conversation, path)), 'usable');
  return `Can I Use lists ${total} web features; the most common stage is "${name}" with ${count} features, of which ${usable} can be used by at least ${WIDELY_USABLE_PERCENT} % of users.`;
}

function emojiAnswer(conversation: Conversation, path: string): string {
  const { total, newest } = emojiCounts(conversation, path);
  const latest = jsonIn(lastQuery(conversation, path));
  return `emojibase lists ${total} emoji; the newest version is ${newest}, which brought ${numberAt(latest, 'count')}: ${textAt(latest, 'labels')}.`;
}

function airportsAnswer(conversation: Conversation, path: string): string {
  const { total, state, count } = airportCounts(conversation, path);
  const found = resultOf(conversation, SEARCH, path);
  const code = columnIn(schemaOf(conversation, path), 'iata');
  const [line = ''] = linesIn(resultOf(conversation, RANGE, path), 1);
  const first = `${line.split(',')[code] ?? ''} in line ${firstLineIn(found)}`;
  return `The file lists ${total} airports; ${state} has the most with ${count} (a search finds the state in ${matchesIn(found)} lines), and the first of them is ${first}.`;
}

function airAnswer(conversation: Conversation, path: string): string {
  const column = columnIn(schemaOf(conversation, path), 'CO2');
  const reads = conversation.steps.flat().filter(({ name, arguments: args }) => name === RANGE && args.includes(path));
  const [first = 0, last = 0] = reads.map(({ result }) => meanOf(linesIn(result, MONTHS), column));
  return `The CO2 concentration averaged ${first.toFixed(2)} ppm over the first ${MONTHS} months and ${last.toFixed(2)} ppm over the last ${MONTHS}, a rise of ${(last - first).toFixed(2)} ppm.`;
}

interface Files {
  readonly features: string;
  readonly emoji: string;
  readonly airports: string;
  readonly air: string;
}

/** Where the results of the first step are now, by what the question calls the files. */
function filesOf(conversation: Conversation): Files {
  const reads = conversation.steps[0] ?? [];
  const find = (words: string): string => {
    const read = reads.find(({ arguments: args }) => args.includes(words));
    if (!read) throw new Error(`The question names no file whose path holds \`${words}\`.`);
    return pathIn(read.result);
  };
  return { features: find('caniuse'), emoji: find('emoji'), airports: find('airports'), air: find('co2') };
}

function schemaOf(conversation: Conversation, path: string): string {
  return resultOf(conversation, SCHEMA, path);
}

function featureCounts(conversation: Conversation, path: string) {
  const counts = jsonIn(resultOf(conversation, QUERY, path));
  const statuses = objectAt(counts, 'statuses');
  const status = keyOfLargest(statuses);
  return {
    total: numberAt(counts, 'features'),
    status,
    count: numberAt(statuses, status),
    name: textAt(objectAt(counts, 'names'), status),
  };
}

function emojiCounts(conversation: Conversation, path: string) {
  const counts = jsonIn(resultOf(conversation, QUERY, path));
  const total = numberAt(counts, 'emoji');
  const length = lengthIn(schemaOf(conversation, path));
  if (total !== length) throw new Error(`The schema says ${length} emoji, the query ${total}.`);
  return { total, newest: numberAt(counts, 'newest') };
}

function airportCounts(conversation: Conversation, path: string) {
  const counts = jsonIn(resultOf(conversation, QUERY, path));
  const states = objectAt(counts, 'states');
  const state = keyOfLargest(states);
  return { total: numberAt(counts, 'airports'), state, count: numberAt(states, state) };
}

/** The answer to the newest query of a file. */
function lastQuery(conversation: Conversation, path: string): string {
  const queries = conversation.steps
    .flat()
    .filter(({ name, arguments: args }) => name === QUERY && args.includes(path));
  const last = queries.at(-1);
  if (!last) throw new Error(`No query of ${path} was made in this turn.`);
  return last.result;
}

function query(path: string, text: string): Call {
  return { name: QUERY, arguments: { path, query: text } };
}

function range(path: string, startLine: number, lineCount: number): Call {
  return { name: RANGE, arguments: { path, start_line: startLine, line_count: lineCount } };
}
