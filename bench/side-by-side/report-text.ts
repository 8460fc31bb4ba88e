// The words of the page that stand around the numbers.

/** What is compared, and how to measure again. */
export const ABOUT = `# Side by side

The same scripted model (OpenAI's chat completions over HTTP) and the same tool on five systems. This page is written by the
command below and changed by nothing else; figures on another machine, or an idle one, differ.

\`\`\`sh
npm run bench:side-by-side -- --write
\`\`\`

The competitors are no dependency of the package: the command installs them in \`bench/side-by-side/competitors\`, by a lock
file of its own, when they are missing. Each system runs in a process of its own with its default settings. Those on Temporal
use Longshore's embedded server (its pacing lifted, SQLite in WAL mode), a fresh one each for the long runs and the large
results.

| system | what runs |
|---|---|
| Longshore | \`LongshorePlugin\` on a Worker, \`longshoreAgentTurn\`, a local tool server, the local file store |
| bare Workflow, minimal | two Activities a step; the conversation is in the Worker's memory and lost with it: the least that a step can cost |
| bare Workflow, whole conversation | the same, but the Workflow holds the conversation and hands it to each model call |
| \`@temporalio/ai-sdk\` | its plugin, \`generateText\` in the Workflow, the tool an Activity; a Worker of the SDK version that it pins |
| \`deepagents\` | \`createDeepAgent\` with \`SqliteSaver\` on a file (through Node's own SQLite, so that nothing is compiled); no Temporal |

What the columns mean:

- *record*: the Workflow's history as the server counts it, or the size of the checkpoint database; *events or rows*: events
  of the history, or rows of the checkpointer's two tables. *File store*: what Longshore keeps beside the history.
- *ms a step*: from one model request to the next, as the model server sees it: median of the first, the fifth and the last tenth
  of the run. Up to 50 calls each figure is the median of several rounds, the systems in turn.
- *tokens sent*: a quarter of the characters of all requests, tool definitions included, counted in the same way for all.
- *CPU*: of the system's own process, not of the Temporal server.`;

/** How far the numbers go. */
export const READING = `## How to read this

- Sizes, events, tokens and ways to end repeat from run to run. Times do not: they were taken beside whatever else the machine
  did, and the load average says how much that was. With more work waiting than there are cores, a step waits in the queue at
  each change of process, and a system on Temporal changes process a dozen times a step. Compare systems by time only where
  the load was below the number of cores; else by CPU time and by how a line rises along its own run.
- What a step costs beside the bare Workflow on a quiet machine is measured by \`node bench/turn.ts\`.
- A large result that a system cannot take is no error there: Temporal tries the Activity again, with the tool's effect,
  until somebody ends it. \`timeout\` is the benchmark's patience, not the system's end.
- Peak memory is that of the system's process so far, the runs before included.
- The model answers at once. A real one takes seconds, which hides most of a step's cost; it does not hide bytes, tokens,
  or a run that is ended by its size.
- Tokens sent grow with the square of the calls in every system that sends the whole conversation, as each model call must,
  unless older parts are summed up. \`deepagents\` does that at about 170,000 tokens, which makes its later requests smaller;
  older parts then stand in a file of its own. The history of Longshore grows with the calls alone, because the conversation is in its file store.
- Longshore sends more tokens a request than a bare Workflow: the definitions of its discovery tools.
- \`deepagents\` has no Worker that could die and no server to ask: its step is a function call in one process. Its times
  are not comparable to those of the four on Temporal; its bytes are.
- \`@temporalio/ai-sdk\` pins an SDK of its own, one version behind; it was not changed.`;
