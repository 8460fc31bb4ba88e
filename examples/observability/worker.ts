// A Worker with OpenTelemetry: Temporal's interceptors trace Client, Workflow and Activities, and Longshore's spans hang below
// those of the Activities. Here spans and metrics go to the terminal; a real one exports to a collector.
// Needs a Temporal server: `temporal server start-dev`, or `longshore dev`; `TEMPORAL_ADDRESS` names it.
import { fileURLToPath } from 'node:url';
import { metrics } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { Resource } from '@opentelemetry/resources';
import { ConsoleMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor, ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { LongshorePlugin } from 'longshore';

// OpenTelemetry's SDK, as for any program: Longshore uses what is installed globally, and nothing else.
const resource = new Resource({ 'service.name': 'harbour-agents' });
const spanProcessor = new BatchSpanProcessor(new ConsoleSpanExporter());
const tracers = new BasicTracerProvider({ resource, spanProcessors: [spanProcessor] });
tracers.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
const reader = new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() });
const meters = new MeterProvider({ resource, readers: [reader] });
metrics.setGlobalMeterProvider(meters);

const longshore = new LongshorePlugin({ store: { folder: '.longshore/store' } });
// Temporal's plugin first: what is added first stands outside.
const plugins = [new OpenTelemetryPlugin({ resource, spanProcessor }), longshore];
const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
const workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins });
const connection = await NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
const worker = await Worker.create({ connection, taskQueue: 'observed', workflowBundle, plugins });

await worker.run();
await connection.close();
await Promise.all([tracers.shutdown(), meters.shutdown()]);
