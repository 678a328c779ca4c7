// A server that remembers keys, in memory: `node server.mjs`. It is exact because a change and its receipt happen in
// one turn of the event loop; with a database that is one transaction. Who is signed in: the cookie `account=ada`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const KINDS = { POST: 'workout.create', PATCH: 'workout.update', DELETE: 'workout.delete' };
const workouts = new Map(); // by id; without a body once it is deleted
const ledger = new Map(); // by owner and key
let generation = 0;

const ok = (json) => ({ status: 200, json });
const problem = (status, code, more) => {
  return { status, json: { type: `urn:holdfast:problem:${code}`, title: code, status, ...more } };
};

// Your own rules (V3): changes a workout, or answers why it never will.
function change(method, owner, id, ifMatch, body) {
  const found = method === 'POST' ? { owner, id: randomUUID(), revision: 0, body: {} } : workouts.get(id);
  if (found?.owner !== owner || !found.body) return { refused: { status: 404, code: 'not_found' } };
  const { revision } = found;
  if (ifMatch && ifMatch !== `"${revision}"`)
    return { refused: { status: 412, code: 'revision_conflict' }, actual_revision: revision };
  const after = method === 'DELETE' ? undefined : { ...found.body, ...body };
  workouts.set(found.id, { ...found, revision: revision + 1, body: after });
  return { target: found.id, revision: revision + 1 };
}

// Once per key (V2): the ledger is looked into before the resource, and written with the change; refusals too.
function carryOut({ method, headers }, owner, id, body) {
  const key = headers['idempotency-key']?.replaceAll('"', '');
  const requestHash = headers['holdfast-request-hash'];
  const kind = KINDS[method];
  if (!key || !requestHash || !kind) return problem(400, 'invalid');
  const known = ledger.get(`${owner} ${key}`);
  if (known) return known.requestHash === requestHash ? known.answer : problem(422, 'idempotency_key_reused');

  const { refused, actual_revision, ...done } = change(method, owner, id, headers['if-match'], body);
  const receipt = {
    id: key,
    requestHash,
    kind,
    ...done,
    generation: ++generation,
    committedAt: Date.now(),
  };
  const answer = refused
    ? problem(refused.status, refused.code, { refused, actual_revision })
    : ok({ receipt: { ...receipt, replayed: true } });
  const sourceRef = decodeURIComponent(headers['holdfast-source-ref'] ?? '');
  ledger.set(`${owner} ${key}`, { requestHash, sourceRef, answer });
  return refused ? answer : ok({ receipt });
}

// What became of a key (V4).
function lookUp(owner, key, sourceRef) {
  const known = ledger.get(`${owner} ${key}`);
  if (!known || (sourceRef ?? known.sourceRef) !== known.sourceRef) return problem(404, 'no_such_receipt');
  return known.answer.json.refused ? ok({ refused: known.answer.json.refused }) : known.answer;
}

function answer(request, body) {
  const { pathname, searchParams } = new URL(request.url, 'http://server');
  const [, , what, id] = pathname.split('/');
  const owner = /\baccount=(\w+)/.exec(request.headers.cookie)?.[1];
  if (!owner) return problem(401, 'unauthorized');
  if ((request.headers['holdfast-owner'] ?? owner) !== owner) return problem(401, 'owner_mismatch'); // V5
  if (what === 'receipts') return lookUp(owner, id, searchParams.get('sourceRef'));
  if (what !== 'workouts') return problem(404, 'not_found');
  if (request.method !== 'GET') return carryOut(request, owner, id, body && JSON.parse(body));
  const all = [...workouts.values()].filter((one) => one.owner === owner && one.body);
  const items = all.map(({ body, id, revision }) => ({ ...body, id, revision }));
  return id ? (items.map(ok).find(({ json }) => json.id === id) ?? problem(404, 'not_found')) : ok({ items });
}

const server = createServer(async (request, response) => {
  const body = await text(request);
  let end = problem(400, 'invalid');
  try {
    end = answer(request, body);
  } catch {} // Malformed JSON.
  const type = end.status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(end.status, { 'content-type': type }).end(JSON.stringify(end.json));
});
server.listen(process.env.PORT ?? 3000, () => console.log(`http://localhost:${server.address().port}`));
