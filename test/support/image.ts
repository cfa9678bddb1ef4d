import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { root } from './consumer.ts'
import { copyProductionModules } from './production-modules.ts'

type Step = { instruction: string; rest: string }
export type Image = {
  folder: string
  env: Record<string, string>
  settings: Record<string, string>
}

/** The Dockerfile's instructions, with their continued lines joined and without comments. */
function readSteps(): Step[] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
  return [...text.matchAll(/^([A-Z]+) +(.+)$/gm)].map(([, instruction = '', rest = '']) => ({
    instruction,
    rest,
  }))
}

/**
 * Carries out the Dockerfile in folders, one for each stage, as far as this is possible without an
 * engine: packages are those that are installed here. Answers the last stage.
 */
export function carryOut(parent: string): Image {
  const context = copyContext(join(parent, 'context'))
  const stages = new Map<string, Image>()
  let current: Image = { folder: '', env: {}, settings: {} }
  for (const { instruction, rest } of readSteps()) {
    if (instruction === 'FROM') {
      const [base = '', , name = 'last'] = rest.split(/ +/)
      const from = stages.get(base)
      current = {
        folder: join(parent, name),
        env: { ...from?.env },
        settings: { ...from?.settings },
      }
      mkdirSync(current.folder)
      if (from) cpSync(from.folder, current.folder, { recursive: true, verbatimSymlinks: true })
      stages.set(name, current)
    } else if (instruction === 'COPY') {
      const [, stage, paths = ''] = /^(?:--from=(\S+) )?(.+)$/.exec(rest) ?? []
      const source = stage === undefined ? context : (stages.get(stage)?.folder ?? '')
      copy(source, current.folder, paths.split(/ +/))
    } else if (instruction === 'ENV') {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g))
        current.env[name] = value
    } else if (instruction === 'RUN') runStep(rest, current.folder)
    else current.settings[instruction] = rest
  }
  return current
}

function runStep(command: string, folder: string) {
  if (!command.startsWith('npm ci')) execFileSync('sh', ['-c', command], { cwd: folder })
  else if (/--omit=dev .*--omit=optional/.test(command)) copyProductionModules(folder)
  else linkAllModules(folder)
}

/** Our own packages are those of the folder: the links to them are relative. */
function linkAllModules(folder: string) {
  for (const workspace of ['.', 'server', 'client-sdk']) {
    const [from, to] = [join(root, workspace, 'node_modules'), join(folder, workspace)]
    if (existsSync(from)) symlinkSync(from, join(to, 'node_modules'))
  }
}

function copy(source: string, folder: string, paths: string[]) {
  const to = paths.at(-1) ?? ''
  for (const path of paths.slice(0, -1)) {
    const from = join(source, path.replace(/^\/app\/?/, ''))
    const isFolderOfFiles = to.endsWith('/') || to === './'
    const target = join(folder, to, isFolderOfFiles ? basename(path) : '')
    mkdirSync(dirname(target), { recursive: true })
    cpSync(from, target, { recursive: true, verbatimSymlinks: true })
  }
}

/** Copies the build context: the files of the repository that .dockerignore lets through. */
function copyContext(folder: string) {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  for (const file of files) {
    const isKept = kept.some((path) => file === path || file.startsWith(`${path}/`))
    if (isKept && existsSync(join(root, file))) cpSync(join(root, file), join(folder, file))
  }
  return folder
}
