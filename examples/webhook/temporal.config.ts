// Settings of a project whose Worker tells the web server of examples/webhook at once, in place of the 5 s in which it looks.
import { defineConfig } from 'longshore';

export default defineConfig({
  hooks: {
    onApproval: async ({ type, approvalId }, { signal }) => {
      if (type !== 'waiting') return;
      const response = await fetch(`${process.env['WEBHOOK_URL'] ?? 'http://127.0.0.1:8080'}/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${process.env['WEBHOOK_SECRET'] ?? ''}` },
        body: JSON.stringify({ approvalId }),
        signal,
      });
      // A failed hook is tried again.
      if (!response.ok) throw new Error(`the web hook answered ${response.status}`);
    },
  },
});
