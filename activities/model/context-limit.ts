// Finds out whether a refusal means that the request does not fit the model's context, and by how much. Providers say
// so in words only; the forms below are those of OpenAI, vLLM, Anthropic, Google and llama.cpp.

const SAYS_SO = [
  /context[ _](?:length|window|size)/i,
  /maximum (?:context|input|prompt)/i,
  /(?:prompt|input|request|messages?) (?:is |are )?too (?:long|large)/i,
  /too many (?:input )?tokens/i,
  /token count .{0,40}exceeds/i,
  /reduce the length/i,
];

/** What was asked for comes before the limit in some forms, after it in others. */
const NUMBERS: readonly { readonly pattern: RegExp; readonly limitFirst: boolean }[] = [
  {
    pattern: /context (?:length|window|size) (?:is|of) (\d+) tokens?.{0,80}?(\d+) (?:input )?tokens?/is,
    limitFirst: true,
  },
  { pattern: /(\d+) tokens? > (\d+)/i, limitFirst: false },
  { pattern: /token count \(?(\d+)\)? exceeds .{0,80}?(\d+)/i, limitFirst: false },
  { pattern: /\((\d+) tokens?\) exceeds .{0,60}?\((\d+) tokens?\)/i, limitFirst: false },
  { pattern: /limit:? (\d+),? requested:? (\d+)/i, limitFirst: true },
];

/** Whether a provider's message or code speaks of the context being too long. */
export function speaksOfContext(message: string, codes: readonly string[]): boolean {
  return codes.includes('context_length_exceeded') || SAYS_SO.some((pattern) => pattern.test(message));
}

/** The tokens asked for and the limit, where the message tells both and they make sense. */
export function contextNumbers(message: string): { readonly asked: number; readonly limit: number } | null {
  const plain = message.replace(/(\d),(?=\d{3}\b)/g, '$1');
  for (const { pattern, limitFirst } of NUMBERS) {
    const match = pattern.exec(plain);
    if (match === null) continue;
    const [first, second] = [Number(match[1]), Number(match[2])];
    const [limit, asked] = limitFirst ? [first, second] : [second, first];
    if (asked > limit) return { asked, limit };
  }
  return null;
}

/** The limit alone, where that is all the message tells. */
export function contextLimitOf(message: string): number | undefined {
  const plain = message.replace(/(\d),(?=\d{3}\b)/g, '$1');
  const match = /context (?:length|window|size)(?: limit)?(?: is| of|:)? (\d+)/i.exec(plain);
  return match === null ? undefined : Number(match[1]);
}
