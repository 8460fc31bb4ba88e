// `longshore approvals list | show | approve | deny | answer | resolve`: what waits for people, and their decisions.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import type * as decisions from '../decisions.ts';
import { someId, someText, someValue } from '../option-values.ts';
import { DECISION_LIMITS } from '../../shared/approvals.ts';

/** What every decision may be given. */
interface DecisionOptions {
  readonly reason?: string;
  readonly as?: string;
  readonly digest?: string;
}

const ID = 'turn-1b2c:t1.0.0';

/** Adds the commands. */
export function registerApprovals(program: Command, context: CommandContext): void {
  const approvals = program.command('approvals').description('see what waits for a person, and decide on it');
  addExamples(approvals, ['longshore approvals list', `longshore approvals approve ${ID}`]);
  addList(approvals, context);
  addShow(approvals, context);
  addApprove(approvals, context);
  addDeny(approvals, context);
  addAnswer(approvals, context);
  addResolve(approvals, context);
}

function addList(approvals: Command, context: CommandContext): void {
  const list = approvals
    .command('list')
    .description('what waits in all turns, the longest first')
    .option('--turn <id>', 'of this turn alone, without the moments by which listings lag', someId)
    .option('--session <id>', 'of this session alone', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (options: { readonly turn?: string; readonly session?: string }) => {
        const { printWaiting } = await loaded();
        return printWaiting(options, context);
      }),
    );
  addExamples(list, ['longshore approvals list', 'longshore approvals list --json']);
}

function addShow(approvals: Command, context: CommandContext): void {
  const show = approvals
    .command('show')
    .description('a call that waits or waited: its arguments, what the model said, how to decide')
    .argument('<id>', 'as `approvals list` and `run` name it', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (id: string) => {
        const { printOne } = await loaded();
        return printOne(id, context);
      }),
    );
  addExamples(show, [`longshore approvals show ${ID}`]);
}

function addApprove(approvals: Command, context: CommandContext): void {
  const approve = decision(approvals, 'approve', 'let a call run')
    .option('--arguments <json>', 'run it with these arguments instead: a JSON object that fits the tool', someValue)
    .option('--for-session', 'allow the same tool for the rest of the session')
    .action(
      context.action(
        async (id: string, options: DecisionOptions & { readonly arguments?: string; readonly forSession?: true }) => {
          const { decideOn, requireArguments } = await loaded();
          const changed = options.arguments === undefined ? undefined : requireArguments(options.arguments);
          const { forSession = false } = options;
          const reply = { type: 'approve', ...(changed && { arguments: changed }), forSession } as const;
          return decideOn({ id, reply, options }, context);
        },
      ),
    );
  addExamples(approve, [
    `longshore approvals approve ${ID}`,
    `longshore approvals approve ${ID} --arguments '{"path": "notes.md"}' --reason "not in that folder"`,
  ]);
}

function addDeny(approvals: Command, context: CommandContext): void {
  const deny = decision(approvals, 'deny', 'refuse a call, or an answer to a question').action(
    context.action(async (id: string, options: DecisionOptions) => {
      const { decideOn } = await loaded();
      return decideOn({ id, reply: { type: 'deny' }, options }, context);
    }),
  );
  addExamples(deny, [`longshore approvals deny ${ID} --reason "ask the owner first"`]);
}

function addAnswer(approvals: Command, context: CommandContext): void {
  const answer = decision(approvals, 'answer', 'answer a question of the agent')
    .argument('<text>', 'the answer', someText(DECISION_LIMITS.answer))
    .action(
      context.action(async (id: string, text: string, options: DecisionOptions) => {
        const { decideOn } = await loaded();
        return decideOn({ id, reply: { type: 'answer', text }, options }, context);
      }),
    );
  addExamples(answer, [`longshore approvals answer ${ID} "the one of last year"`]);
}

interface ResolveOptions extends DecisionOptions {
  readonly runAgain?: true;
  readonly done?: true;
  readonly giveUp?: true;
}

function addResolve(approvals: Command, context: CommandContext): void {
  const resolve = decision(approvals, 'resolve', 'say what becomes of an approved call whose outcome is unknown')
    .option('--run-again', 'it had no effect: send it again')
    .option('--done', 'it took effect: go on')
    .option('--give-up', 'leave it unknown, and go on')
    .action(
      context.action(async (id: string, options: ResolveOptions) => {
        const { decideOn, requireChoice } = await loaded();
        return decideOn({ id, reply: { type: 'outcome', choice: requireChoice(options) }, options }, context);
      }),
    );
  addExamples(resolve, [`longshore approvals resolve ${ID} --done`]);
}

function decision(approvals: Command, name: string, description: string): Command {
  return approvals
    .command(name)
    .description(description)
    .argument('<id>', 'as `approvals list` and `run` name it', someId)
    .option('--reason <text>', 'why; the agent is told', someText(DECISION_LIMITS.reason))
    .option(
      '--as <name>',
      'who decides, recorded as claimed and not verified (default: user@host)',
      someText(DECISION_LIMITS.approver),
    )
    .option('--digest <digest>', 'of the call as it was shown; by default as it is now', someValue)
    .option('--json', 'print one JSON document');
}

/** Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay. */
async function loaded(): Promise<typeof decisions> {
  return import('../decisions.ts');
}
