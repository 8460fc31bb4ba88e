// `infer_schema`: what a file holds, as the fullest description that fits the limit.
import type { z } from 'zod';
import type { inferSchemaArguments } from './arguments.ts';
import { findFile, isBinary, streamFile, type SandboxAnswer, type SandboxContext } from './files.ts';
import { clampText, fits } from './fit.ts';
import { stoppedFault } from './job-limits.ts';
import { plural } from './text.ts';
import { runInThread } from './threads.ts';

const TIMEOUT_MS = 60_000;

/** Describes a file in a thread, as a stream. */
export async function describeFile(
  args: z.output<typeof inferSchemaArguments>,
  context: SandboxContext,
): Promise<SandboxAnswer> {
  const file = await findFile(context, args.path);
  if (file.bytes === 0) return { text: 'The file is empty: 0 bytes.', isError: false };
  if (await isBinary(context, file)) {
    return { text: `binary, ${file.mediaType}, ${plural(file.bytes, 'byte')}. It has no schema.`, isError: false };
  }
  const job = { kind: 'infer', path: file.path, mediaType: file.mediaType, pointer: args.pointer } as const;
  const limits = { timeoutMs: TIMEOUT_MS, signal: context.signal };
  const result = await runInThread<'infer'>(job, () => streamFile(context, file), limits).catch((thrown: unknown) => {
    throw stoppedFault(thrown, 'The reading', 'Look at a part of the file with read_file or search_file.');
  });
  const isError = !result.found;
  for (const text of result.texts) {
    if (await fits(text, context.perResultTokens)) return { text, isError };
  }
  return { text: await clampText(result.texts.at(-1) ?? '', context.perResultTokens), isError };
}
