/** One thing a server must do, or should: how to try it, and what to do where it does not hold. */
import type { Probe } from './probe.ts';

export interface Check {
  /** Stable: for `--json` and for tests. */
  readonly name: string;
  readonly clause: string;
  /** States what holds. */
  readonly title: string;
  /** What breaks for people where it does not, and what to change. For a back-end engineer. */
  readonly advice: string;
  /** `should`: worth having, and no reason to fail. */
  readonly weight: 'must' | 'should';
  /** Why it cannot be tried with this configuration; `undefined` where it can. */
  readonly missing?: ((probe: Probe) => string | undefined) | undefined;
  /** Resolves where it holds. @throws Broken */
  readonly run: (probe: Probe) => Promise<void>;
}
