// Spans of the trials' processes, as lines of a file that outlives them: what a killed Worker had told by then, and what the
// process that took over told after it.
import fs from 'node:fs';
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** The variable that names the file; without it nothing is traced. */
export const SPANS_VARIABLE = 'CRASH_SPANS';

/** A span that has ended, as its line has it. Times are milliseconds since 1970. */
export interface SpanLine {
  readonly pid: number;
  readonly name: string;
  readonly attributes: ReadableSpan['attributes'];
  readonly startMs: number;
  readonly endMs: number;
}

/** Installs an OpenTelemetry SDK in this process, where the variable asks for it. */
export function traceToFile(): void {
  const file = process.env[SPANS_VARIABLE];
  if (file === undefined || file === '') return;
  const processor: SpanProcessor = {
    onStart() {},
    onEnd: (span) => fs.appendFileSync(file, `${JSON.stringify(lineOf(span))}\n`),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  new BasicTracerProvider({ spanProcessors: [processor] }).register();
}

/** The spans that a file has. */
export function readSpans(file: string): readonly SpanLine[] {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as SpanLine);
}

function lineOf({ name, attributes, startTime, endTime }: ReadableSpan): SpanLine {
  return { pid: process.pid, name, attributes, startMs: millisecondsOf(startTime), endMs: millisecondsOf(endTime) };
}

function millisecondsOf([seconds, nanoseconds]: ReadableSpan['startTime']): number {
  return seconds * 1_000 + nanoseconds / 1_000_000;
}
