/** Receipt look-up (V4): an account's own receipts, by key. Nothing changes, whoever asks how often. */
import { readEncoded } from '../http/command-headers.ts';
import { problem } from '../http/problem.ts';
import { inProgress, type Route } from '../http/router.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { checkOwner } from './command-routes.ts';
import type { Authenticate } from './sign-in.ts';

export function receiptRoutes(ledger: Ledger, authenticate: Authenticate): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/receipts/:id',
      handle: async (request, { id = '' }) => {
        const account = await authenticate(request);
        if (readEncoded(request, 'holdfast-owner') !== undefined) checkOwner(request, account);
        const match = {
          family: request.query.get('family') ?? undefined,
          sourceRef: request.query.get('sourceRef') ?? undefined,
        };
        const found = await ledger.find(account.id, id, match);
        switch (found.type) {
          case 'receipt':
            return {
              status: 200,
              headers: { 'cache-control': 'no-store' },
              json: { receipt: found.receipt },
            };
          case 'refused':
            return {
              status: 200,
              headers: { 'cache-control': 'no-store' },
              json: { refused: { code: found.code, status: found.status } },
            };
          case 'in_progress':
            return inProgress();
          case 'none':
            // A body of its own, so that nobody takes a proxy's 404 for this.
            return problem(404, 'no_such_receipt', 'Nothing was applied under this key');
        }
      },
    },
  ];
}
