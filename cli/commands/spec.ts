// `longshore spec check`: validates an agent spec alone, without a server.
import type { Command } from 'commander';

import { specInvalid, type SpecNote } from '../../shared/spec-check.ts';
import type { CheckedSpecFile } from '../load-spec.ts';
import { checkSpecFile } from '../load-spec.ts';
import type { Output } from '../output.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someValue } from '../option-values.ts';

const EXIT_FAULTS = 2;

/** Adds `spec check SPEC [--json]`. */
export function registerSpec(program: Command, context: CommandContext): void {
  const spec = program.command('spec').description('work with agent specs');
  addExamples(spec, ['longshore spec check agent.yaml']);
  const check = spec
    .command('check')
    .description('check an agent spec: every fault with its place and mend; needs no server')
    .argument('<spec>', 'the spec, a JSON or YAML file', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (file: string) => {
        const { path, faults, notes, spec } = await checkSpecFile(file, context.cwd);
        const { output } = context;
        if (output.isJson) output.json(asDocument({ path, faults, notes, spec }, file));
        else if (spec === null) throw specInvalid(faults, file);
        else print(notes, `${file} is a valid agent spec for ${spec.model.name}`, output);
        return faults.length === 0 ? 0 : EXIT_FAULTS;
      }),
    );
  addExamples(check, ['longshore spec check agent.yaml', 'longshore spec check agent.json --json']);
}

/** Beside the faults as data stands the error that every command prints. */
function asDocument({ path, faults, notes }: CheckedSpecFile, file: string): unknown {
  const isValid = faults.length === 0;
  return { path, valid: isValid, faults, notes, ...(isValid ? {} : { error: specInvalid(faults, file).toRecord() }) };
}

function print(notes: readonly SpecNote[], verdict: string, output: Output): void {
  for (const { path, message } of notes) {
    output.line(`${output.paint('yellow', 'note')}  ${path === '' ? '' : `${output.paint('bold', path)}: `}${message}`);
  }
  output.line(`${output.paint('green', 'ok')}    ${verdict}.`);
}
