/** Builds the module worker's app into `outdir`; its worker answers `/version` with `version`. */
export function buildBundled(outdir: string, version: string): Promise<void>;
/** The same app with a classic worker and without a bundler. */
export function buildClassicExample(outdir: string, version: string): Promise<void>;
