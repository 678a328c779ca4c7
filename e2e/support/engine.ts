/** A browser engine as the shared suite drives it: tabs that run functions. */

/** A tab. What it runs needs nothing from around it; arguments and answers cross as JSON. */
export interface EngineTab {
  run<Args extends readonly unknown[], T>(
    work: (...args: Args) => T | Promise<T>,
    ...args: Args
  ): Promise<Awaited<T>>;
  goto(url: string): Promise<void>;
  /** Resolves when the page before is shown again, loaded anew or out of the browser's memory. */
  back(): Promise<void>;
  /** A person looks at it. */
  show(): Promise<void>;
  /** A person looks at something else: at another tab, or the window is minimised. */
  hide(): Promise<void>;
  /** The page's network, where the engine can be told: its `onLine` and the events, not its worker's. */
  readonly setOffline?: ((isOff: boolean) => Promise<void>) | undefined;
  /** Fires the event in this origin's worker, where the engine has it. */
  readonly periodicSync?: ((tag: string) => Promise<void>) | undefined;
  close(): Promise<void>;
}

export interface EngineBrowser {
  /** What it calls itself, e.g. `firefox/153.8.0`. */
  readonly version: string;
  /** A new tab, in front. */
  openTab(url: string): Promise<EngineTab>;
  /** Ends the browser and removes the profile. */
  close(): Promise<void>;
}

/** One whose profile outlives it. */
export interface LastingBrowser {
  open(url: string): Promise<void>;
  /** SIGKILL: nothing gets a chance to finish. */
  kill(): Promise<void>;
  /** Starts again on the same profile, after `kill`. */
  relaunch(): Promise<LastingBrowser>;
  /** Ends the browser and removes the profile. */
  close(): Promise<void>;
}
