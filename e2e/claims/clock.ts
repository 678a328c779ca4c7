/** The clock of one realm, moved by hand: leases end without anybody waiting for them. Timers go on as they are. */
const now = Date.now;
let offset = 0;

Date.now = () => now.call(Date) + offset;

/** How far this realm's clock is ahead of the real one, in ms. */
export function setClock(aheadMs: number): void {
  offset = aheadMs;
}
