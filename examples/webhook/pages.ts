// The pages behind a link: plain, without scripts, everything that came from a model escaped.
import type { Approval } from '../../client/index.ts';

/** A question with one button. Fetching a link decides nothing: chats and mail scanners fetch what they see. */
export function confirmPage(approval: Approval, decision: 'approve' | 'deny', token: string): string {
  const what = decision === 'approve' ? 'Approve' : 'Deny';
  return page(
    `${what} this call?`,
    `<p><b>${escaped(`${approval.server}.${approval.tool}`)}</b> of turn ${escaped(approval.workflowId)}, waiting since ${approval.waitingSince}</p>
<pre>${escaped(JSON.stringify(approval.arguments, null, 2))}</pre>
<form method="post" action="/decide"><input type="hidden" name="token" value="${escaped(token)}">
<p><label>Your name <input name="name" maxlength="100"></label> <label>Reason <input name="reason" maxlength="1000"></label></p>
<button>${what}</button></form>`,
  );
}

/** What came of it. */
export function resultPage(title: string, text: string): string {
  return page(title, `<p>${escaped(text)}</p>`);
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>\n${body}\n</html>\n`;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? character);
}
