// A real OpenTelemetry SDK that keeps what it gets in memory, installed for the whole test process.
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, metrics, propagation, trace, type Attributes } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

/** The installed SDK. */
export interface MemoryTelemetry {
  readonly processor: SimpleSpanProcessor;
  /** Every span that has ended, in order. */
  spans(): readonly ReadableSpan[];
  /** Every metric with all its points. */
  metrics(): Promise<readonly MetricData[]>;
  /** Takes the SDK out again. */
  uninstall(): Promise<void>;
}

/** A point of a metric: its attributes, and its count, sum or value. */
export interface MetricPoint {
  readonly attributes: Attributes;
  readonly sum: number;
  readonly count: number;
  readonly boundaries: readonly number[];
}

/** Installs tracer, meter, context manager and propagator. */
export function installOpenTelemetry(): MemoryTelemetry {
  const spanExporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor(spanExporter);
  const tracers = new BasicTracerProvider({ spanProcessors: [processor] });
  tracers.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Exports when asked to alone.
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(meters);
  return {
    processor,
    spans: () => spanExporter.getFinishedSpans(),
    async metrics() {
      metricExporter.reset();
      await reader.forceFlush();
      return metricExporter.getMetrics().flatMap((resource) => resource.scopeMetrics.flatMap((scope) => scope.metrics));
    },
    async uninstall() {
      for (const api of [trace, metrics, context, propagation]) api.disable();
      await Promise.all([tracers.shutdown(), meters.shutdown()]);
    },
  };
}

/** The points of a metric, counters and histograms alike. */
export function pointsOf(all: readonly MetricData[], name: string): readonly MetricPoint[] {
  const points = all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
  return points.map(({ attributes, value }) => {
    if (typeof value === 'number') return { attributes, sum: value, count: value, boundaries: [] };
    const { sum = 0, count, buckets } = value as { sum?: number; count: number; buckets: { boundaries: number[] } };
    return { attributes, sum, count, boundaries: buckets.boundaries };
  });
}
