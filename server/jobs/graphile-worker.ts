/**
 * The functions of graphile-worker. When it is loaded, it looks for a configuration of its own in
 * the current folder, and throws if it cannot read a file there. From a static import, Node.js 20
 * would throw that once more, where nothing catches it.
 */
export const { Logger, run, runMigrations } = await import('graphile-worker').catch(
  (error: Error) => {
    throw new Error(
      'graphile-worker, which looks for its settings in the current folder, cannot be loaded: ' +
        error.message,
    )
  },
)
