// `longshore turns list | show | cancel | reset | retry-call`: what Temporal knows of turns, and what one does with them.
import type { Command } from 'commander';

import type { Client } from '@temporalio/client';
import type { TurnView } from '../../client/turn-view.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue, wholeNumber } from '../option-values.ts';
import { table } from '../output.ts';
import { reaching } from '../temporal-faults.ts';
import { turnLines } from '../turn-lines.ts';

/** Adds `turns list`, `turns show ID`, `turns cancel ID`, `turns reset ID`, `turns retry-call ID CALLKEY`. */
export function registerTurns(program: Command, context: CommandContext): void {
  const turns = program.command('turns').description('look at turns, cancel one, or have parts of one made again');
  addExamples(turns, ['longshore turns list', 'longshore turns show turn-1b2c']);
  addList(turns, context);
  addShow(turns, context);
  addCancel(turns, context);
  addReset(turns, context);
  addRetryCall(turns, context);
}

function addList(turns: Command, context: CommandContext): void {
  const list = turns
    .command('list')
    .description('every turn, newest first')
    .option('--json', 'print one JSON document')
    .action(
      context.action(() =>
        withClient(context, async (client) => {
          const { listTurns } = await import('../../client/turns.ts');
          const found = await Array.fromAsync(listTurns(client));
          const { output } = context;
          if (output.isJson) return output.json(found);
          if (found.length === 0) return output.line('There are no turns yet.');
          const rows = found.map((turn) => [
            turn.workflowId,
            turn.status,
            turn.startedAt,
            turn.agent ?? '',
            turn.session ?? '',
          ]);
          for (const line of table([['turn', 'status', 'started', 'agent', 'session'], ...rows])) output.line(line);
        }),
      ),
    );
  addExamples(list, ['longshore turns list --json']);
}

function addShow(turns: Command, context: CommandContext): void {
  const show = turns
    .command('show')
    .description('a turn: steps, calls, placements, tokens')
    .argument('<id>', 'the turn, as `run` and `turns list` name it', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action((id: string) =>
        withClient(context, async (client, store) => {
          const { readTurn } = await import('../../client/turns.ts');
          const view: TurnView = await readTurn(client, id, store);
          const { output } = context;
          if (output.isJson) return output.json(view);
          for (const line of turnLines(view, output.paint)) output.line(line);
        }),
      ),
    );
  addExamples(show, ['longshore turns show turn-1b2c', 'longshore turns show turn-1b2c --json']);
}

function addCancel(turns: Command, context: CommandContext): void {
  const cancel = turns
    .command('cancel')
    .description('ask a turn to cancel: its open calls end in results, its transcript can be continued')
    .argument('<id>', 'the turn', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action((id: string) =>
        withClient(context, async (client) => {
          const { cancelTurn } = await import('../../client/turns.ts');
          await cancelTurn(client, id);
          const { output } = context;
          if (output.isJson) return output.json({ workflowId: id, cancelRequested: true });
          output.line(`Asked turn ${id} to cancel.`);
        }),
      ),
    );
  addExamples(cancel, ['longshore turns cancel turn-1b2c']);
}

interface ResetOptions {
  readonly step: number;
  readonly reason?: string;
}

function addReset(turns: Command, context: CommandContext): void {
  const reset = turns
    .command('reset')
    .description(
      'go on anew from before a step; decisions accepted since are asked for again, calls made are not doubled',
    )
    .argument('<id>', 'the turn, open or closed', someId)
    .requiredOption('--step <n>', 'the step whose model call is made anew, from 0', wholeNumber)
    .option('--reason <text>', "why, for Temporal's record", someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action((id: string, { step, reason }: ResetOptions) =>
        withClient(context, async (client, store) => {
          const [{ resetTurn }, { reopeningTurn }] = await Promise.all([
            import('../../client/reset.ts'),
            import('../../worker/files.ts'),
          ]);
          const given = { step, ...(reason !== undefined && { reason }) };
          const done = await reopeningTurn(store, id, () => resetTurn(client, id, given));
          const { output } = context;
          if (output.isJson) return output.json(done);
          output.line(`Turn ${id} goes on from before step ${step}, as run ${done.runId}.`);
        }),
      ),
    );
  addExamples(reset, ['longshore turns reset turn-1b2c --step 2', 'longshore turns reset turn-1b2c --step 0 --json']);
}

interface RetryOptions {
  readonly reason?: string;
  readonly as?: string;
}

function addRetryCall(turns: Command, context: CommandContext): void {
  const retry = turns
    .command('retry-call')
    .description('have a call of an open turn made again whose result you distrust; the model is told')
    .argument('<id>', 'the turn', someId)
    .argument('<callkey>', 'the call, as `turns show` names it: t1/0/2', someValue)
    .option('--reason <text>', 'why; the model is told', someValue)
    .option('--as <name>', 'who asks, as you say (not verified); by default user@host', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action((id: string, callKey: string, { reason, as }: RetryOptions) =>
        withClient(context, async (client) => {
          const { retryCall } = await import('../../client/retry-call.ts');
          const given = { ...(reason !== undefined && { reason }), ...(as !== undefined && { by: as }) };
          const done = await retryCall(client, id, callKey, given);
          const { output } = context;
          if (output.isJson) return output.json(done);
          output.line(`Call ${callKey} of turn ${id} is made again, as generation ${done.generation}.`);
        }),
      ),
    );
  addExamples(retry, ['longshore turns retry-call turn-1b2c t1/0/2 --reason "the figures are from last year"']);
}

async function withClient(
  context: CommandContext,
  work: (client: Client, store: FileStore) => Promise<void>,
): Promise<void> {
  // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
  const [{ connectProject, openProject }, { connectClient }, { openStore }] = await Promise.all([
    import('../project.ts'),
    import('../connect-client.ts'),
    import('../store.ts'),
  ]);
  const project = await openProject(context);
  const server = await connectProject(project, 'read', context);
  try {
    await reaching(server, async () => {
      const client = await connectClient(server);
      try {
        await work(client, openStore(project.home, context.env, project.config));
      } finally {
        await client.connection.close();
      }
    });
  } finally {
    await server.embedded?.release();
  }
}
