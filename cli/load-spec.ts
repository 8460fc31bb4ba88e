// Reads an agent spec from a file and checks it whole.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import type { AgentSpec } from '../shared/agent-spec.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import type { SpecFault, SpecNote } from '../shared/spec-check.ts';
import { checkSpec, parseSpecText, specInvalid } from '../shared/spec-check.ts';

/** A spec as checked, with where it stands: faults and no spec, or a spec and notes. */
export interface CheckedSpecFile {
  /** Absolute. */
  readonly path: string;
  readonly faults: readonly SpecFault[];
  readonly notes: readonly SpecNote[];
  readonly spec: AgentSpec | null;
}

/** A spec without faults. */
export interface LoadedSpec {
  /** Absolute. */
  readonly path: string;
  readonly spec: AgentSpec;
  readonly notes: readonly SpecNote[];
}

/** Reads and checks; faults are data. @throws `SpecNotFound` when the file cannot be read. */
export async function checkSpecFile(file: string, cwd: string): Promise<CheckedSpecFile> {
  const path = resolve(cwd, file);
  const parsed = parseSpecText(await readSpec(path), file);
  if ('fault' in parsed) return { path, faults: [parsed.fault], notes: [], spec: null };
  return { path, ...checkSpec(parsed.value) };
}

/** Reads a spec that must be right. @throws `SpecNotFound`, `SpecInvalid` with every fault. */
export async function loadSpec(file: string, cwd: string): Promise<LoadedSpec> {
  const { path, faults, notes, spec } = await checkSpecFile(file, cwd);
  if (spec === null) throw specInvalid(faults, file);
  return { path, spec, notes };
}

async function readSpec(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    const reasons: { readonly [code: string]: string } = {
      ENOENT: `There is no agent spec at ${path}.`,
      EISDIR: `${path} is a folder, not an agent spec.`,
    };
    throw new LongshoreError(
      'SpecNotFound',
      (code === undefined ? undefined : reasons[code]) ??
        `The agent spec ${path} cannot be read: ${messageOf(thrown)}.`,
      'Give the path of a JSON or YAML file that holds an agent spec.',
      { cause: thrown },
    );
  }
}
