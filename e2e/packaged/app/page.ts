// Says what became of one note where a person, or a test, can read it.
import { connectOutbox } from 'holdfast/client';
import { runReactions, sentenceOf } from 'holdfast/reactions';
import { definition } from './outbox.js';

const facts = document.createElement('pre');
document.body.append(facts);
const say = (line: string): void => facts.append(`${line}\n`);

/** A worker built as a module says so in the page's address. */
const type = location.search === '?module' ? 'module' : 'classic';
const outbox = await connectOutbox(definition, {
  worker: '/sw.js',
  registration: { type },
  owner: 'ann',
});
runReactions(outbox, { apply: () => undefined, readAgain: () => undefined, tell: () => undefined });
const saved = await outbox.note.create({ text: 'from an installed package' });
say(`${saved.action} by the ${outbox.view.getSnapshot().host}`);
const end = await saved.settled;
say(`${end.type}: ${sentenceOf(end)}`);
