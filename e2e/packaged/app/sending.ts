import { httpSender } from 'holdfast/sw';

export const sender = httpSender(
  { note: { create: ({ body }) => ({ method: 'POST', url: '/api/notes', json: body }) } },
  { receipts: '/api/receipts' },
);
