import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The paths of all files of the project, those that are not committed yet included. */
export function projectFiles() {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).trim().split('\n')
  return files.filter((file) => existsSync(join(root, file)))
}

/** Copies the project, as it is in this folder, with links to the packages that are installed. */
export function copyProject(tree: string) {
  for (const file of projectFiles()) {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    cpSync(join(root, file), join(tree, file))
  }
  for (const workspace of ['.', 'server', 'client-sdk', 'test']) linkPackages(tree, workspace)
  return tree
}

/** Our own packages are those of the copy: their links are relative. */
function linkPackages(tree: string, workspace: string) {
  const [from, to] = [join(root, workspace, 'node_modules'), join(tree, workspace, 'node_modules')]
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    if (name === '@parley')
      cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
    else if (!name.startsWith('.vite')) symlinkSync(join(from, name), join(to, name))
  }
}
