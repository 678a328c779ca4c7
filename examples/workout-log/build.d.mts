/** Builds the demo into a folder that any static server can serve. */
export function buildDemo(outdir: string): Promise<void>;
