import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Makes stacks point to the sources of the modules below a folder's URL. Node.js itself would read
 * the source maps of all modules when it loads them, an eighth of the time of a start. Here one is
 * read when a stack has its module.
 */
export function showSources(folder: string) {
  const maps = new Map<string, SourceMap | undefined>()
  const mapOf = (module: string) => {
    if (!maps.has(module)) maps.set(module, readMap(module))
    return maps.get(module)
  }
  const show = (site: NodeJS.CallSite) => {
    const shown = String(site)
    const module = site.getFileName()
    if (!module?.startsWith(folder)) return shown
    const [line, column] = [site.getLineNumber() ?? 1, site.getColumnNumber() ?? 1]
    const entry = mapOf(module)?.findEntry(line - 1, column - 1)
    if (!entry || !('originalSource' in entry)) return shown
    const source = fileURLToPath(new URL(entry.originalSource, module))
    const place = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    return shown.replace(`${module}:${line}:${column}`, () => place)
  }
  Error.prepareStackTrace = (error, sites) =>
    [Error.prototype.toString.call(error), ...sites.map((site) => `    at ${show(site)}`)].join(
      '\n',
    )
}

/** Undefined without one that can be read: a stack is shown all the same. */
function readMap(module: string) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(module)}.map`, 'utf8')))
  } catch {
    return undefined
  }
}
