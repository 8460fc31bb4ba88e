// What a Worker says and hears of a Workflow passes through its payload codec: there the Workflow Task of the placement has
// an exact beginning (the last result arrives) and an end (the commit leaves). An approved call leaves in the same way. It changes no byte.
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { Trap } from './trap.ts';

/** A codec that dies at the boundaries of the placement. `calls`: how many results the step has. */
export function trapCodec(trap: Trap, calls: number): PayloadCodec {
  const settled = new Set<string>();
  return {
    async encode(payloads) {
      if (payloads.some((payload) => textOf(payload).includes('"commit":{'))) trap.spring('placement-after');
      if (payloads.some((payload) => isCall(textOf(payload), trap.target))) trap.spring('decision-before');
      return payloads;
    },
    async decode(payloads) {
      for (const payload of payloads) {
        const key = /^\{"callKey":"(t1\/0\/\d+)","outcome":/.exec(textOf(payload))?.[1];
        if (key !== undefined) settled.add(key);
      }
      if (settled.size === calls) trap.spring('placement-before');
      return payloads;
    },
  };
}

/** The input of the Activity that makes a call. */
function isCall(text: string, callKey: string): boolean {
  return text.includes(`"callKey":"${callKey}"`) && text.includes('"previewCharacters":');
}

function textOf({ data }: Payload): string {
  return Buffer.from(data ?? []).toString('utf8');
}
