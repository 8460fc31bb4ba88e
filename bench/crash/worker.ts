// The Worker process that a trial kills.
import { NativeConnection, Runtime } from '@temporalio/worker';
import { PLAN_VARIABLE, type WorkerPlan } from './plan.ts';
import { traceToFile } from './spans.ts';
import { createTrialWorker } from './trial-worker.ts';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } } });
traceToFile();
// Trials that are broken off leave no Worker behind.
process.stdin.resume().once('end', () => process.exit(1));
// Only a trial starts this program, with a plan it has made.
const plan = JSON.parse(process.env[PLAN_VARIABLE] ?? '') as WorkerPlan;
const connection = await NativeConnection.connect({ address: plan.address });
const worker = await createTrialWorker(plan, connection);
const running = worker.run();
console.log('polling');
await running;
await connection.close();
process.stdin.destroy();
