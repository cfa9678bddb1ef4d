import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './consumer.ts'

type Locked = { dev?: boolean; optional?: boolean; devOptional?: boolean; link?: boolean }

/** Where the packages are that production needs, as `npm ci --omit=dev --omit=optional` decides. */
function productionPackages() {
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  return Object.entries(lock.packages)
    .filter(([path, { dev, optional, devOptional, link }]) => {
      const isInstalled = /^(server\/)?node_modules\//.test(path)
      return isInstalled && !dev && !optional && !devOptional && !link
    })
    .map(([path]) => path)
}

/** Copies them into a folder like the repository, without asking a registry. */
export function copyProductionModules(folder: string) {
  for (const path of productionPackages())
    if (existsSync(join(root, path))) copyPackage(join(root, path), join(folder, path))
  mkdirSync(join(folder, 'node_modules/@parley'))
  for (const workspace of ['contract', 'server'])
    symlinkSync(`../../${workspace}`, join(folder, 'node_modules/@parley', workspace))
}

/** Those that lie in the package have an entry of their own. */
function copyPackage(from: string, to: string) {
  const isOwn = (file: string) => !file.slice(from.length).includes('/node_modules')
  cpSync(from, to, { recursive: true, filter: isOwn, verbatimSymlinks: true })
}

/** Links them into the folder of a project that has installed our packages. */
export function linkProductionModules(folder: string) {
  for (const path of productionPackages()) {
    const isNested = path.lastIndexOf('node_modules/') > path.indexOf('node_modules/')
    if (isNested || !existsSync(join(root, path))) continue
    const link = join(folder, path.replace(/^server\//, 'node_modules/@parley/server/'))
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, path), link, 'junction')
  }
}
