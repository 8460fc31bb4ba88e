// A process that writes contents which are there already, from the last to the first, and prints those that are not there
// although it was promised that they are.
// Usage: relying-writer.ts FOLDER COUNT
import { createLocalStore } from '../../activities/store/local.ts';

const [folder = '', count = '0'] = process.argv.slice(2);
const store = createLocalStore({ folder, namespace: 'default' });
const promised: string[] = [];
for (let n = Number(count) - 1; n >= 0; n -= 1) {
  promised.push((await store.putBlob(Buffer.from(`content ${n}`))).sha256);
}
const there = await Promise.all(promised.map(async (sha256) => (await store.statBlob(sha256)) !== null));
process.stdout.write(JSON.stringify(promised.filter((_, index) => !there[index])));
