import type { buildApp } from '@parley/server/app'

/** The routes of a server as `METHOD /path/{parameter}`. */
export function routesOf(app: ReturnType<typeof buildApp>) {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods = ''] =
        /^([│ ]*)[├└]── (\S*)(?: \((.*)\))?/.exec(line) ?? []
      const depth = indent.length / 4
      parents.splice(depth, Number.POSITIVE_INFINITY, segment.replace(/:(\w+)/g, '{$1}'))
      return methods
        .split(', ')
        .filter((method) => method !== '' && method !== 'HEAD')
        .map((method) => `${method} ${parents.join('')}`)
    })
}
