// Asks at the terminal about every call that waits, one after another, while the turn goes on: a call that was decided elsewhere
// is asked about no more, and what is typed for one call never decides on another.
import type { Client } from '@temporalio/client';
import { getApproval } from '../../client/approvals.ts';
import type { AskedCall } from '../../client/asked-calls.ts';
import { answer, approve, deny, resolveOutcome } from '../../client/decide.ts';
import { approvalId } from '../../shared/approvals.ts';
import type { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { JsonObject } from '../../shared/json.ts';
import { asLongshoreError, errorLines } from '../failure.ts';
import type { Output } from '../output.ts';
import { shortArguments, timesText, visible } from '../waiting-lines.ts';
import { promptOf, replyTo, type Asked, type Reply, type Stage } from './dialog.ts';
import { openLineEditor, type LineEditor, type TypingInput } from './line-editor.ts';

/** What asking needs. */
export interface AskOptions {
  readonly client: Client;
  readonly store: FileStore;
  readonly input: TypingInput;
  readonly output: Pick<Output, 'line' | 'note' | 'paint'>;
  /** Shows the prompt in the live line; null takes it away. */
  readonly prompt: (text: string | null) => void;
  /** Ctrl-C. */
  readonly onInterrupt: () => void;
  /** Says how calls that are put off can be decided on later. */
  readonly onLater: (calls: readonly AskedCall[]) => void;
}

/** Asks about what waits. */
export interface Asker {
  /** Tells what waits now; what is no longer among it is asked about no more. */
  readonly sync: (waiting: readonly AskedCall[]) => void;
  readonly close: () => void;
}

/** Keys that were pressed before a prompt was seen decide nothing. */
const UNSEEN_MS = 150;
/** As long after a prompt that was taken away for another one. */
const TAKEN_AWAY_MS = 1_000;
/** As much of the arguments stands in the prompt. */
const PROMPT_CHARACTERS = 400;

/** Opens the terminal when something waits, and gives it back when nothing does. */
export function createAsker(options: AskOptions): Asker {
  return new TerminalAsker(options);
}

/** Without a terminal to type at: tells once of each call how it can be decided on. */
export function createTeller(tell: (calls: readonly AskedCall[]) => void): Asker {
  const told = new Set<string>();
  return {
    sync: (waiting) => {
      const fresh = waiting.filter((asked) => !told.has(keyOf(asked)));
      for (const asked of fresh) told.add(keyOf(asked));
      if (fresh.length > 0) tell(fresh);
    },
    close: () => {},
  };
}

class TerminalAsker implements Asker {
  private readonly options: AskOptions;
  private readonly putOff = new Set<string>();
  private queue: readonly AskedCall[] = [];
  private editor: LineEditor | null = null;
  private current: AskedCall | null = null;
  private stage: Stage = 'choose';
  private isSending = false;
  private isClosed = false;

  constructor(options: AskOptions) {
    this.options = options;
  }

  readonly sync = (waiting: readonly AskedCall[]): void => {
    this.queue = waiting.filter((asked) => !this.putOff.has(keyOf(asked)));
    if (this.isClosed || this.isSending) return;
    const { current } = this;
    // Its pause may have been recorded anew: what is asked is the same.
    const same = current && this.queue.find((asked) => keyOf(asked) === keyOf(current));
    if (same) this.current = same;
    else this.next(current ? TAKEN_AWAY_MS : UNSEEN_MS);
  };

  readonly close = (): void => {
    this.isClosed = true;
    this.leave();
  };

  private next(ignoreMs: number): void {
    this.current = this.queue[0] ?? null;
    if (!this.current || this.isClosed) return this.leave();
    this.ask('choose', ignoreMs);
  }

  private leave(): void {
    this.current = null;
    this.editor?.close();
    this.editor = null;
    this.options.prompt(null);
  }

  private ask(stage: Stage, ignoreMs = 0, text = ''): void {
    this.stage = stage;
    this.editor ??= openLineEditor(this.options.input, {
      onChange: (shown) => this.show(shown),
      onLine: (line) => void this.take(line),
      onInterrupt: this.options.onInterrupt,
      onEnd: () => this.later(this.queue),
    });
    this.editor.begin(text, ignoreMs);
  }

  private show(typed: string): void {
    const { current } = this;
    if (!current || this.isSending) return;
    const { call } = current;
    const { paint } = this.options.output;
    const others = this.queue.length > 1 ? paint('dim', ` (${this.queue.length - 1} more after it)`) : '';
    const head = `${paint('bold', `${call.callKey} ${call.server}.${call.tool}`)}, ${timesText(call, Date.now())}${others}`;
    this.options.prompt([head, ...bodyLines(current), `${promptOf(this.stage, askedOf(current))}${typed}`].join('\n'));
  }

  private async take(line: string): Promise<void> {
    const { current } = this;
    if (!current || this.isSending) return;
    const reply = replyTo(line, this.stage, askedOf(current));
    switch (reply.type) {
      case 'ask':
        if (reply.problem !== undefined) this.options.output.note(`  ${reply.problem}`);
        return this.askOn(current, reply.stage, reply.problem === undefined ? null : line);
      case 'later':
        return this.later([current]);
      case 'show':
        for (const text of await this.wholeLines(current)) this.options.output.line(text);
        return this.ask('choose');
      case 'approve':
      case 'deny':
      case 'answer':
      case 'outcome':
        return this.send(current, reply);
    }
  }

  private async askOn(asked: AskedCall, stage: Stage, typed: string | null): Promise<void> {
    if (stage !== 'edit') return this.ask(stage);
    const text = typed ?? JSON.stringify(await this.argumentsOf(asked));
    if (this.current && keyOf(this.current) === keyOf(asked)) this.ask(stage, 0, text);
  }

  private later(calls: readonly AskedCall[]): void {
    for (const asked of calls) this.putOff.add(keyOf(asked));
    this.queue = this.queue.filter((asked) => !this.putOff.has(keyOf(asked)));
    this.options.onLater(calls);
    this.next(UNSEEN_MS);
  }

  private async send(asked: AskedCall, reply: SentReply): Promise<void> {
    const { client, output, prompt } = this.options;
    const key = keyOf(asked);
    this.isSending = true;
    prompt(`${asked.call.callKey}: sending the decision`);
    try {
      await decide(client, asked, reply);
      this.queue = this.queue.filter((other) => keyOf(other) !== key);
    } catch (thrown) {
      const error = asLongshoreError(thrown);
      for (const line of errorLines(error)) output.note(line);
      // What can be mended is asked again; all else is settled, or is told by the turn's history.
      if (!isMendable(error)) this.queue = this.queue.filter((other) => keyOf(other) !== key);
    }
    this.isSending = false;
    this.next(UNSEEN_MS);
  }

  private async argumentsOf(asked: AskedCall): Promise<JsonObject> {
    const { client, store } = this.options;
    if (!asked.call.argumentsRef) return asked.call.arguments;
    return (await getApproval(client, idOf(asked), { store })).arguments;
  }

  private async wholeLines(asked: AskedCall): Promise<readonly string[]> {
    const text = JSON.stringify(await this.argumentsOf(asked), null, 2);
    return visible(text)
      .split('\n')
      .map((line) => `    ${line}`);
  }
}

type SentReply = Extract<Reply, { readonly type: 'approve' | 'deny' | 'answer' | 'outcome' }>;

/** Bound to what was shown. */
async function decide(client: Client, asked: AskedCall, reply: SentReply): Promise<unknown> {
  const { digest } = asked.call;
  const id = idOf(asked);
  switch (reply.type) {
    case 'approve': {
      const { arguments: changed, forSession } = reply;
      return approve(client, id, { digest, ...(changed && { arguments: changed }), ...(forSession && { forSession }) });
    }
    case 'deny':
      return deny(client, id, { digest, ...(reply.reason !== undefined && { reason: reply.reason }) });
    case 'answer':
      return answer(client, id, reply.text, { digest });
    case 'outcome':
      return resolveOutcome(client, id, reply.choice, { digest });
  }
}

function isMendable({ type }: LongshoreError): boolean {
  return type === 'ApprovalInvalid' || type === 'WorkerMissing' || type === 'TemporalUnavailable';
}

function bodyLines({ call }: AskedCall): readonly string[] {
  if (call.kind === 'question') {
    const text = call.question?.text ?? '';
    const asked = text === '' ? shortArguments(call.arguments, PROMPT_CHARACTERS) : text;
    const options = call.question?.options ?? [];
    return [`  ${visible(asked)}`, ...options.map((option, index) => `  ${index + 1}. ${visible(option)}`)];
  }
  const large = call.argumentsRef && `  large arguments, ${call.argumentsRef.bytes} bytes: show them with o`;
  const files = call.files.length === 0 ? [] : [`  files: ${visible(call.files.join(', '))}`];
  const known = call.known === undefined ? [] : [`  ${visible(call.known)}`];
  return [large ?? `  ${shortArguments(call.arguments, PROMPT_CHARACTERS)}`, ...files, ...known];
}

function askedOf({ call }: AskedCall): Asked {
  return { kind: call.kind, options: call.question?.options ?? [] };
}

function idOf({ turn, call }: AskedCall): string {
  return approvalId(turn.workflowId, call.callKey);
}

/** A call that waits again, for its outcome, is another question. */
function keyOf(asked: AskedCall): string {
  return `${idOf(asked)} ${asked.call.digest}`;
}
