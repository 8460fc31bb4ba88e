// A request as the text that the model goes on from, in the marks it was trained with (ChatML). It was trained on no tool
// calls, and imitates its own earlier lines: so these are left out, and only what the tools gave is shown.
import type { ChatRequest, OfferedTool } from './request.ts';

/** What the choice of a tool is written behind. */
export const CHOICE_MARK = 'Tool: ';

/** What the arguments are written behind, after the choice. */
export const ARGUMENTS_MARK = '\nArguments: ';

/** The whole conversation, up to the place where the model's own words begin. */
export function promptOf({ messages, tools }: ChatRequest): string {
  const names = new Map<string, string>();
  const turns = messages.map((message) => {
    switch (message.role) {
      case 'system':
        return turn('system', message.content + toolText(tools));
      case 'user':
        return turn('user', message.content);
      case 'assistant':
        for (const call of message.tool_calls) names.set(call.id, call.function.name);
        return message.content === '' ? '' : turn('assistant', message.content);
      case 'tool':
        return turn('user', `Result of ${names.get(message.tool_call_id) ?? 'a call'}:\n${message.content}`);
    }
  });
  return `${turns.join('')}<|im_start|>assistant\n`;
}

function turn(role: string, text: string): string {
  return `<|im_start|>${role}\n${text.trim()}<|im_end|>\n`;
}

/** A line a tool: every word of it costs time at the first step. */
function toolText(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return '';
  return ['\n\nTools:', ...tools.map(({ name, description }) => `- ${name}: ${firstSentence(description)}`)].join('\n');
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
