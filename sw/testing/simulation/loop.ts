/**
 * What could happen next (T31): every step of every host, of the network and of the server waits here until it is
 * chosen, so that any interleaving is a matter of choice. Steps of one line keep their order, as transactions of one
 * connection do. Time stands still until it is moved; a wall clock may jump while timers count what really passed.
 */
import type { Clock } from '../../environment.ts';

export interface Step {
  /** The host it belongs to: a frozen one does not move, a dead one is gone. Empty: nobody's. */
  readonly who: string;
  /** Only the first step of a line can happen. Absent: a line of its own. */
  readonly line?: string | undefined;
  readonly name: () => string;
  run(): void;
}

export interface Loop extends Clock {
  /** What really passed since the beginning, in ms. */
  readonly passed: number;
  readonly frozen: Set<string>;
  add(step: Step): void;
  after(who: string, ms: number, callback: () => void): () => void;
  /** Everything that can happen now. */
  ready(): readonly Step[];
  /** Lets it happen, and everything that follows from it by itself. */
  run(step: Step): Promise<void>;
  /** Lets everything run that needs no choice. */
  settle(): Promise<void>;
  /** How long until the next timer goes off, in ms; `undefined` where none waits. */
  untilTimer(): number | undefined;
  pass(ms: number): void;
  jump(ms: number): void;
  /** A host is gone, with all that it waited for. */
  drop(who: string): void;
}

/** One macrotask: every microtask that is ready runs before it comes back. */
function turn(): Promise<void> {
  const immediate: unknown = Reflect.get(globalThis, 'setImmediate');
  return new Promise((resolve) => {
    if (typeof immediate === 'function') {
      immediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

export function createLoop(startAt: number): Loop {
  const steps = new Set<Step>();
  /** With the time at which it goes off. */
  const timers = new Map<Step, number>();
  const frozen = new Set<string>();
  const dropped = new Set<string>();
  let passed = 0;
  let offset = startAt;

  const loop: Loop = {
    now: () => offset + passed,
    get passed() {
      return passed;
    },
    frozen,
    add(step) {
      if (!dropped.has(step.who)) steps.add(step);
    },
    after(who, ms, callback) {
      const timer: Step = { who, name: () => `${who}: a timer of ${ms} ms`, run: callback };
      if (!dropped.has(who)) timers.set(timer, passed + Math.max(0, ms));
      return () => {
        timers.delete(timer);
      };
    },
    ready() {
      const lines = new Set<string>();
      const ready: Step[] = [];
      for (const step of steps) {
        if (step.line !== undefined) {
          if (lines.has(step.line)) continue;
          lines.add(step.line);
        }
        if (!frozen.has(step.who)) ready.push(step);
      }
      const due = new Map<string, { readonly timer: Step; readonly at: number }>();
      for (const [timer, at] of timers) {
        if (at > passed || frozen.has(timer.who)) continue;
        const earlier = due.get(timer.who);
        if (earlier === undefined || at < earlier.at) due.set(timer.who, { timer, at });
      }
      for (const { timer } of due.values()) ready.push(timer);
      return ready;
    },
    async run(step) {
      steps.delete(step);
      timers.delete(step);
      step.run();
      await turn();
    },
    settle: turn,
    untilTimer() {
      let next: number | undefined;
      for (const [{ who }, at] of timers)
        if (!frozen.has(who) && (next === undefined || at < next)) next = at;
      return next === undefined ? undefined : Math.max(0, next - passed);
    },
    pass(ms) {
      passed += ms;
    },
    jump(ms) {
      offset += ms;
    },
    drop(who) {
      dropped.add(who);
      for (const step of steps) if (step.who === who) steps.delete(step);
      for (const timer of timers.keys()) if (timer.who === who) timers.delete(timer);
      frozen.delete(who);
    },
  };
  return loop;
}
