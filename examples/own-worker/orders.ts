// A local tool: a function with a zod schema, offered to the agent as one more server.
import { defineLocalServer, defineLocalTool } from 'longshore';
import { z } from 'zod';

const ORDERS: Readonly<Record<string, { status: string; port: string }>> = {
  'A-17': { status: 'at sea', port: 'Rotterdam' },
  'B-4': { status: 'delivered', port: 'Hamburg' },
};

/** The server `orders` with one tool that only reads. */
export const orders = defineLocalServer({
  name: 'orders',
  description: 'Looks up orders by their id.',
  tools: [
    defineLocalTool({
      name: 'find_order',
      description: 'Where an order is now.',
      inputSchema: z.object({ order_id: z.string().describe('Such as A-17') }),
      annotations: { readOnlyHint: true },
      run: ({ order_id }) => ORDERS[order_id] ?? { status: 'unknown', port: 'none' },
    }),
  ],
});
