// Where our spans hang: below the active span, else below the one that came with the Activity's headers.
import { context, propagation, ROOT_CONTEXT, trace, type Context } from '@opentelemetry/api';
import { defaultPayloadConverter, type Headers, type Payload } from '@temporalio/common';
import { isObject } from '../../shared/json.ts';

/** The header that Temporal's OpenTelemetry interceptors of all languages send. */
const TRACER_HEADER = '_tracer-data';

/**
 * The active context where it has a span: Temporal's OpenTelemetry interceptor stands outside of ours then. Else it may
 * stand inside, or on the side of the Workflow only: its header leads to the same trace.
 */
export function parentContext(headers: Headers): Context {
  const active = context.active();
  if (trace.getSpan(active)) return active;
  const payload = headers[TRACER_HEADER];
  const carrier = payload && carrierOf(payload);
  return isObject(carrier) ? propagation.extract(ROOT_CONTEXT, carrier) : active;
}

/** Another sender may have put anything there, in any encoding; a call does not fail for a lost parent. */
function carrierOf(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}
