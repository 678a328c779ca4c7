import './families.js';
import { connectOutbox } from './holdfast/client/index.js';
import { defineOutbox, record } from './holdfast/shared/index.js';

const form = document.querySelector('form');
const text = document.querySelector('input');
const status = document.querySelector('output');
const update = document.querySelector('button.update');

const registration = await navigator.serviceWorker.register('/sw.js');
registration.addEventListener('updatefound', () => {
  const { installing } = registration;
  installing.addEventListener('statechange', () => {
    if (installing.state === 'installed' && registration.active) update.hidden = false;
  });
});
update.addEventListener('click', () => registration.waiting?.postMessage('SKIP_WAITING'));

const definition = defineOutbox(self.families({ record }));
const outbox = await connectOutbox(definition, { worker: registration, owner: 'ann' });
const show = () => {
  const { counts, isReady } = outbox.view.getSnapshot();
  if (isReady) status.value = `${counts.queued + counts.sending} waiting`;
};
outbox.view.subscribe(show);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  await outbox.note.create({ text: text.value });
  // Stored: from here on it survives anything but losing the device.
  form.reset();
});
