// What a person's lines mean at a waiting call, and what is shown: nothing is decided by a slip, and nothing is hidden.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArguments, promptOf, replyTo, type Stage } from '../../cli/prompt/dialog.ts';
import { decideCommands, shortArguments, spanText, timesText, visible } from '../../cli/waiting-lines.ts';
import { approvalId, parseApprovalId } from '../../shared/approvals.ts';

const approval = { kind: 'approval', options: [] } as const;
const question = { kind: 'question', options: ['2024', '2025'] } as const;
const outcome = { kind: 'outcome', options: [] } as const;

describe('a line at a waiting call', () => {
  it.each([
    ['a', { type: 'approve' }],
    [' Approve ', { type: 'approve' }],
    ['yes', { type: 'approve' }],
    ['s', { type: 'approve', forSession: true }],
    ['d', { type: 'ask', stage: 'reason' }],
    ['deny too dear', { type: 'deny', reason: 'too dear' }],
    ['e', { type: 'ask', stage: 'edit' }],
    ['l', { type: 'later' }],
    ['o', { type: 'show' }],
  ])('[APPR-11] %j means what its letter says', (line, reply) => {
    expect(replyTo(line, 'choose', approval)).toEqual(reply);
  });

  it('[APPR-11] that is empty or none of these never decides', () => {
    const known = /^(a|approve|y|yes|s|session|d|deny|n|no|e|edit|l|later|o|show)$/i;
    fc.assert(
      fc.property(fc.string(), (line) => {
        fc.pre(!known.test(line.trim().split(/\s+/)[0] ?? ''));
        expect(replyTo(line, 'choose', approval)).toMatchObject({ type: 'ask', stage: 'choose' });
      }),
    );
    for (const line of ['approve it all', 'yes but', 'session x', '']) {
      expect(replyTo(line, 'choose', approval)).toMatchObject({ type: 'ask' });
    }
  });

  it('[APPR-11] after deny is the reason, none if empty', () => {
    expect(replyTo('not today', 'reason', approval)).toEqual({ type: 'deny', reason: 'not today' });
    expect(replyTo('  ', 'reason', approval)).toEqual({ type: 'deny' });
  });

  it('[APPR-11] after edit approves with a JSON object alone; what is wrong is said, an empty line goes back', () => {
    expect(replyTo('{"path":"x"}', 'edit', approval)).toEqual({ type: 'approve', arguments: { path: 'x' } });
    expect(replyTo('', 'edit', approval)).toEqual({ type: 'ask', stage: 'choose' });
    for (const [text, problem] of [
      ['{"path"', 'not JSON'],
      ['[1]', 'a list'],
      ['null', 'null'],
      ['7', 'a number'],
    ] as const) {
      expect(replyTo(text, 'edit', approval)).toMatchObject({
        type: 'ask',
        stage: 'edit',
        problem: expect.stringContaining(problem),
      });
    }
    expect(parseArguments('{}')).toEqual({ arguments: {} });
  });

  it('[APPR-5] answers a question in its own words or by an option’s number, and declines only by command', () => {
    expect(replyTo('2', 'choose', question)).toEqual({ type: 'answer', text: '2025' });
    expect(replyTo('3', 'choose', question)).toEqual({ type: 'answer', text: '3' });
    expect(replyTo('deny', 'choose', question)).toEqual({ type: 'answer', text: 'deny' });
    expect(replyTo('/deny none of it', 'choose', question)).toEqual({ type: 'deny', reason: 'none of it' });
    expect(replyTo('/deny', 'choose', question)).toEqual({ type: 'ask', stage: 'reason' });
    expect(replyTo('/later', 'choose', question)).toEqual({ type: 'later' });
    expect(replyTo('', 'choose', question)).toMatchObject({ type: 'ask' });
  });

  it('[APPR-11] on an unknown outcome runs again, takes as done or gives up', () => {
    expect(replyTo('r', 'choose', outcome)).toEqual({ type: 'outcome', choice: 'run-again' });
    expect(replyTo('done', 'choose', outcome)).toEqual({ type: 'outcome', choice: 'done' });
    expect(replyTo('g', 'choose', outcome)).toEqual({ type: 'outcome', choice: 'give-up' });
    expect(replyTo('a', 'choose', outcome)).toMatchObject({ type: 'ask' });
  });

  it('[APPR-11] is asked for with a prompt in every stage and of every kind', () => {
    for (const asked of [approval, question, outcome]) {
      for (const stage of ['choose', 'reason', 'edit'] satisfies Stage[])
        expect(promptOf(stage, asked)).toMatch(/[:?] $/);
    }
  });
});

describe('what is shown', () => {
  it('[APPR-1] hides nothing: control, direction and format characters stand as their codes', () => {
    expect(visible('rm \u001b[8m-rf\u001b[0m \u009b2K \u202etxt \u200b\u007f')).toBe(
      String.raw`rm \u001b[8m-rf\u001b[0m \u009b2K \u202etxt \u200b\u007f`,
    );
    expect(visible('plain\ttext\nin lines, Ünïcode 漢字 🙂')).toBe('plain\ttext\nin lines, Ünïcode 漢字 🙂');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('[APPR-1] is arguments in one line, cut with a mark', () => {
    expect(shortArguments({ a: 1 })).toBe('{"a":1}');
    expect(shortArguments({ text: 'x'.repeat(500) }, 20)).toHaveLength(20);
    expect(shortArguments({ text: '\u202e' })).toBe(String.raw`{"text":"\u202e"}`);
  });

  it.each([
    [-5, '0 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_600_000, '1 h'],
    [5_400_000, '1 h 30 min'],
    [86_400_000 * 3 + 3_600_000 * 4, '3 d 4 h'],
  ])('[APPR-1] is %i ms as %s', (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });

  it('[APPR-1] is how long a call waits and still may, also where a clock has jumped', () => {
    const now = 1_000_000_000;
    expect(timesText({ since: now - 5_000, expiresAt: null }, now)).toBe('waits for 5 s, without a deadline');
    expect(timesText({ since: now - 5_000, expiresAt: now + 60_000 }, now)).toBe('waits for 5 s, expires in 1 min');
    expect(timesText({ since: now + 99_000, expiresAt: now - 60_000 }, now)).toBe(
      'waits for 0 s; its deadline passed 1 min ago',
    );
  });

  it('[APPR-1] is commands that a shell takes as they are, whatever the id', () => {
    expect(decideCommands('turn-1:t1.0.0', 'approval')[0]).toMatch(/approvals approve turn-1:t1\.0\.0$/);
    expect(decideCommands("it's $HOME:t1.0.0", 'approval')[0]).toMatch(/approve 'it'\\''s \$HOME:t1\.0\.0'$/);
    expect(decideCommands('t:t1.0.0', 'question')[0]).toMatch(/approvals answer/);
    expect(decideCommands('t:t1.0.0', 'outcome')).toHaveLength(3);
  });
});

describe('an id', () => {
  it('[APPR-7] always leads back to its turn and call, and what is none to nothing', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat(), fc.nat(), (workflowId, turn, step, index) => {
        const callKey = `t${turn}/${step}/${index}`;
        expect(parseApprovalId(approvalId(workflowId, callKey))).toEqual({ workflowId, callKey });
      }),
    );
    for (const id of ['', 'x', 'x:', ':t1.0.0', 'x:t1.0', 'x:t1.0.0.0', 'x:t1/0/0', 'x:t-1.0.0']) {
      expect({ id, parsed: parseApprovalId(id) }).toEqual({ id, parsed: null });
    }
  });
});
