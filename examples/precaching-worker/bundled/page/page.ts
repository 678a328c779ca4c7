import { connectOutbox } from 'holdfast/client';
import { definition } from '../definition/outbox.ts';

const find = <Type extends Element>(selector: string, type: new () => Type): Type => {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`There is no ${selector}`);
  return found;
};
const form = find('form', HTMLFormElement);
const text = find('input', HTMLInputElement);
const status = find('output', HTMLOutputElement);
const update = find('button.update', HTMLButtonElement);

const registration = await navigator.serviceWorker.register('/sw.js', { type: 'module' });
registration.addEventListener('updatefound', () => {
  const { installing } = registration;
  installing?.addEventListener('statechange', () => {
    if (installing.state === 'installed' && registration.active) update.hidden = false;
  });
});
update.addEventListener('click', () => registration.waiting?.postMessage('SKIP_WAITING'));

const outbox = await connectOutbox(definition, { worker: registration, owner: 'ann' });
const show = (): void => {
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
