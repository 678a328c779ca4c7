import type { SendRequest } from '../../sw/dispatch/sender.ts';
import { sentFixture } from './receipt-fixture.ts';

/** An update of workout `w1` by `ann`, as the dispatcher hands it to a sender. */
export function sendFixture(overrides: Partial<SendRequest> = {}): SendRequest {
  return {
    ...sentFixture(overrides),
    sourceRef: undefined,
    body: { weightKg: 80 },
    headers: { authorization: 'Bearer t' },
    attempt: 1,
    ...overrides,
  };
}
