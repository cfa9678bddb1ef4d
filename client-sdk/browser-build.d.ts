import type { BuildOptions, BuildResult } from 'esbuild'

/** The client as browsers load it. */
export const buildForBrowsers: <Options extends BuildOptions>(
  options: Options,
) => Promise<BuildResult<Options>>
