// Replays a stored history offline: `node replay.ts history.json`. Fails when today's code decides otherwise.
import { readFile } from 'node:fs/promises';
import { replayTurn } from 'longshore/testing';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Give the file of a history.');
await replayTurn(await readFile(file, 'utf8'));
console.log(`${file} replays: the same commands, the same decisions`);
