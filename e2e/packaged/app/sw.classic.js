// The worker of an app that bundles nothing.
importScripts('/holdfast.classic.js');

const { startOutbox, httpSender, defineOutbox, record } = self.holdfast;
const definition = defineOutbox({ note: record() });

startOutbox(definition, {
  sender: httpSender(
    { note: { create: ({ body }) => ({ method: 'POST', url: '/api/notes', json: body }) } },
    { receipts: '/api/receipts' },
  ),
});
