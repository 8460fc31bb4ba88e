// A model request with everything that a test does not care about.
import type { ModelRequest } from '../../shared/model.ts';
import { ModelError } from '../../activities/model/errors.ts';

/** One user message, no tools, no params; the rest as given. */
export function modelRequest(given: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'openai/test-model',
    params: {},
    responseFormat: { type: 'text' },
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    tools: [],
    signal: new AbortController().signal,
    ...given,
  };
}

/** The `ModelError` that a call ends in. @throws Error if it ends otherwise. */
export async function modelErrorOf(call: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await call.then(
    () => new Error('The call succeeded.'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ModelError) return error;
  throw new Error('The call did not end in a ModelError.', { cause: error });
}
