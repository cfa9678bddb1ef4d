import type { BuildOptions, BuildResult } from 'esbuild'

/** The client as browsers load it: the text of its files by their paths. */
export const buildForBrowsers: <Options extends BuildOptions>(
  options: Options,
) => Promise<BuildResult<Options> & { files: Map<string, string> }>
