/** Numbers that only their seed decides (T31): the same on every machine, so that a seed is a whole story. */

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, `count`). */
  below(count: number): number;
  chance(probability: number): boolean;
  pick<const List extends readonly [unknown, ...unknown[]]>(list: List): List[number];
}

/** mulberry32: 32 bits of state, good enough to choose what happens next. */
export function createRandom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)],
  };
}
