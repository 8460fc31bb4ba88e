// The schema of a stored manifest. Members it does not know are kept, so that an older Worker does not drop what a
// newer one wrote.
import { z } from 'zod';
import type { Manifest } from '../../shared/manifest.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const bytes = z.int().nonnegative();

const rule = z.looseObject({
  class: z.string().exactOptional(),
  afterTurnMs: z.number(),
  maxAgeMs: z.number().exactOptional(),
});

const manifestSchema = z.looseObject({
  version: z.literal(1),
  turn: z.looseObject({ workflowId: z.string(), session: z.string(), turn: z.int().positive() }),
  continues: z.string().exactOptional(),
  head: z.looseObject({ sha256, bytes }).nullable(),
  run: z.string().exactOptional(),
  runSince: z.int().nonnegative().exactOptional(),
  files: z.array(
    z.looseObject({
      path: z.string(),
      sha256,
      bytes,
      mediaType: z.string(),
      state: z.enum(['staged', 'pinned', 'superseded', 'released', 'deleted']),
      callKey: z.string(),
      server: z.string(),
      tool: z.string(),
      origin: z.string(),
      pinnedAt: z.number().exactOptional(),
      retention: rule.exactOptional(),
      supersededBy: z.string().exactOptional(),
      generation: z.int().nonnegative().exactOptional(),
      inline: z.literal(true).exactOptional(),
      run: z.string().exactOptional(),
    }),
  ),
  ended: z.string().exactOptional(),
  endedAt: z.number().exactOptional(),
  savedAt: z.number().exactOptional(),
  retention: rule.exactOptional(),
  refs: z.array(z.looseObject({ sha256, bytes })).exactOptional(),
  letGo: z
    .looseObject({
      head: z.looseObject({ sha256, bytes }).nullable(),
      refs: z.array(z.looseObject({ sha256, bytes })).exactOptional(),
    })
    .exactOptional(),
  waiting: z
    .array(z.looseObject({ callKey: z.string(), kind: z.enum(['approval', 'question', 'outcome']), since: z.number() }))
    .exactOptional(),
}) satisfies z.ZodType<Manifest>;

/** A manifest from its JSON. Throws an error whose message names each fault and its path, on one line. */
export function parseManifest(text: string): Manifest {
  const checked = manifestSchema.safeParse(JSON.parse(text));
  if (checked.success) return checked.data;
  throw new Error(checked.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}
