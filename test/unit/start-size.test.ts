// What a turn is started with: refused before anything is sent, with sizes and a mend, where Temporal would not take it.
import { describe, expect, it } from 'vitest';
import { requireStartFits } from '../../client/start-size.ts';
import { PAYLOAD_LIMIT_BYTES } from '../../shared/payload-limit.ts';
import type { AgentTurnInput } from '../../shared/turn.ts';
import { specOf } from '../support/turn-world.ts';

const input = (more: Partial<AgentTurnInput> = {}): AgentTurnInput => ({ version: 1, spec: specOf({}), ...more });
const said = (content: string) => ({ type: 'user.message' as const, content });

describe('the start of a turn', () => {
  it('fits with the largest spec that is accepted and the largest message', () => {
    const spec = specOf({ instructions: 'i'.repeat(780_000) });
    expect(() => requireStartFits(input({ spec, message: said('m'.repeat(1_048_000)) }))).not.toThrow();
  });

  it('with too many seed messages together says what takes how much', () => {
    const spec = { ...specOf({}), messages: Array.from({ length: 30 }, () => said('z'.repeat(70_000))) };
    const start = () => requireStartFits(input({ spec, message: said('Hello?') }));
    expect(start).toThrow(
      /spec has 21\d{5} bytes \(21\d{5} of them in its messages\), the message 42; .*limit is 1900000/,
    );
    expect(start).toThrow(expect.objectContaining({ type: 'SizeLimit', mend: expect.stringContaining('tool') }));
  });

  it('counts bytes, not characters', () => {
    const spec = { ...specOf({}), instructions: '漢'.repeat(PAYLOAD_LIMIT_BYTES / 3) };
    expect(() => requireStartFits(input({ spec }))).toThrow(/limit/);
  });

  it('with a session name of kilobytes is refused: it stands in every command', () => {
    expect(() => requireStartFits(input({ session: 's'.repeat(5_000) }))).toThrow(/session's name has 5000 bytes/);
  });
});
