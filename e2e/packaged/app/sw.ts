import { startOutbox } from 'holdfast/sw';
import { definition } from './outbox.js';
import { sender } from './sending.js';

startOutbox(definition, { sender });
