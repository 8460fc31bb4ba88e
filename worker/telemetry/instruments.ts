// Every metric by name: what it is, its unit, its buckets. Source of the `gen_ai` ones: the GenAI semantic conventions of
// OpenTelemetry, version 1.41 (gen-ai-metrics).
import { createNoopMeter, metrics, type Attributes, type MeterProvider } from '@opentelemetry/api';
import { redactValue } from '../../shared/redact-value.ts';

interface MetricKind {
  readonly type: 'counter' | 'histogram';
  readonly unit: string;
  readonly description: string;
  readonly boundaries?: readonly number[];
}

const TOKEN_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SECOND_BOUNDARIES = Array.from({ length: 14 }, (_, power) => Number((0.01 * 2 ** power).toFixed(2)));
const BYTE_BOUNDARIES = Array.from({ length: 12 }, (_, power) => 64 * 4 ** power);

/** Every metric, by name. */
export const METRICS = {
  'gen_ai.client.token.usage': {
    type: 'histogram',
    unit: '{token}',
    description: 'Number of input and output tokens used, as the provider reports them.',
    boundaries: TOKEN_BOUNDARIES,
  },
  'gen_ai.client.operation.duration': {
    type: 'histogram',
    unit: 's',
    description: 'GenAI operation duration.',
    boundaries: SECOND_BOUNDARIES,
  },
  'longshore.model.sent_tokens': {
    type: 'histogram',
    unit: '{token}',
    description: 'Tokens of a whole model request, by our own count.',
    boundaries: TOKEN_BOUNDARIES,
  },
  'longshore.tool.result.size': {
    type: 'histogram',
    unit: 'By',
    description: "Size of a tool result's payload.",
    boundaries: BYTE_BOUNDARIES,
  },
  'longshore.tool.result.tokens': {
    type: 'histogram',
    unit: '{token}',
    description: 'Tokens that a tool result would cost inline.',
    boundaries: TOKEN_BOUNDARIES,
  },
  'longshore.tool.staged.size': {
    type: 'counter',
    unit: 'By',
    description: 'Bytes of tool results that went to the file store, further blocks included.',
  },
  'longshore.placements': { type: 'counter', unit: '{result}', description: 'Placed tool results, by rule.' },
  'longshore.tokens.in_context': {
    type: 'counter',
    unit: '{token}',
    description: 'Tokens that placed tool results cost in context.',
  },
  'longshore.tokens.kept_out': {
    type: 'counter',
    unit: '{token}',
    description: 'Tokens that placing tool results in files kept out of context.',
  },
  'longshore.attempts.failed': {
    type: 'counter',
    unit: '{attempt}',
    description: 'Attempts of Activities that failed, by error type.',
  },
  'longshore.turns': { type: 'counter', unit: '{turn}', description: 'Turns that ended, by status.' },
} as const satisfies Record<string, MetricKind>;

/** The name of a metric. */
export type MetricName = keyof typeof METRICS;

/** One value for one metric. */
export interface Measurement {
  readonly metric: MetricName;
  readonly value: number;
  readonly attributes: Attributes;
}

interface Instrument {
  record(value: number, attributes: Attributes): void;
}

/**
 * Records measurements with the global meter provider, secrets taken out of their attributes; without one it does nothing.
 * The instruments are made anew when another provider is set: unlike tracers, the API's meters do not follow one that is set
 * later.
 */
export function createRecorder(redact: (text: string) => string): (measurements: readonly Measurement[]) => void {
  let provider: MeterProvider | undefined;
  let isNoop = true;
  const instruments = new Map<MetricName, Instrument>();
  return (measurements) => {
    const current = metrics.getMeterProvider();
    if (current !== provider) {
      instruments.clear();
      isNoop = current.getMeter('longshore') === createNoopMeter();
      provider = current;
    }
    if (isNoop) return;
    for (const { metric, value, attributes } of measurements) {
      const instrument = instruments.get(metric) ?? instrumentOf(metric, current);
      instruments.set(metric, instrument);
      instrument.record(value, redactValue(attributes, redact));
    }
  };
}

function instrumentOf(name: MetricName, provider: MeterProvider): Instrument {
  const { type, unit, description, boundaries }: MetricKind = METRICS[name];
  const meter = provider.getMeter('longshore');
  if (type === 'histogram') {
    const advice = boundaries ? { advice: { explicitBucketBoundaries: [...boundaries] } } : {};
    return meter.createHistogram(name, { unit, description, ...advice });
  }
  const counter = meter.createCounter(name, { unit, description });
  return { record: (value, attributes) => counter.add(value, attributes) };
}
