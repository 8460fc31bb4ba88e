// Starts a turn from a program and continues it with a second one. Needs a Temporal server (`TEMPORAL_ADDRESS`) and a
// Worker on Task Queue `longshore`: `longshore dev` has both, and its `server.json` names the address.
import { readFile } from 'node:fs/promises';
import { Client, Connection } from '@temporalio/client';
import { checkSpec, parseSpecText, readTurn, startTurn } from 'longshore/client';

const [specFile = 'agent.yaml'] = process.argv.slice(2);
const read = parseSpecText(await readFile(specFile, 'utf8'), specFile);
if ('fault' in read) throw new Error(`${specFile}: ${read.fault.message}`);
const { spec, faults } = checkSpec(read.value);
if (!spec) throw new Error(JSON.stringify(faults));

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
const client = new Client({ connection });
const workflowId = `question-${Date.now()}`;

const first = await startTurn(client, {
  workflowId,
  spec,
  message: { type: 'user.message', content: 'What changed last week?' },
});
console.log((await first.result()).answer);

// Same transcript, same session; the files of the first turn are still readable by their paths.
const second = await startTurn(client, {
  workflowId: `${workflowId}-2`,
  spec,
  message: { type: 'user.message', content: 'And the week before?' },
  continueFrom: workflowId,
});
console.log((await second.result()).answer);

const { tokens } = await readTurn(client, `${workflowId}-2`);
console.log(`${tokens.original} tokens in results, ${tokens.inline} of them in context`);
await connection.close();
