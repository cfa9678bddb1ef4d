import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { files } from './files.ts'
import { insertions as inServer } from './insertions.ts'
import { insertions as inTests } from './test-insertions.ts'

const insertions = [...inServer, ...inTests]

/** Adds a noun by the list of CONTRIBUTING.md, as far as that is a matter of text. */
export function addPolls(tree: string) {
  for (const [file, text] of Object.entries(files))
    writeFileSync(join(tree, file), text.trimStart())
  for (const { file, after, text } of insertions) {
    edit(join(tree, file), (content) => {
      const [before, ...rest] = content.split(after)
      if (rest.length !== 1) throw new Error(`${file}: expected once ${after}`)
      return `${before}${after}${text}${rest[0]}`
    })
  }
}

/**
 * Takes back what `addPolls` has inserted into these files, as if these steps had been forgotten.
 * Returns a function that puts it there again.
 */
export function forget(tree: string, ...names: string[]) {
  const before = names.map((name) => [join(tree, name), read(join(tree, name))] as const)
  for (const { file, after, text } of insertions) {
    if (!names.includes(file)) continue
    edit(join(tree, file), (content) => content.replace(`${after}${text}`, () => after))
  }
  for (const [file, content] of before)
    if (read(file) === content) throw new Error(`${file}: nothing was inserted`)
  return () => {
    for (const [file, content] of before) writeFileSync(file, content)
  }
}

/** Deletes the schema from the migration that was written: tables may be in another one. */
export function nameNoSchema(tree: string) {
  const migrations = join(tree, 'server/db/migrations')
  const [name = ''] = readdirSync(migrations).filter((file) => file.endsWith('_polls.sql'))
  edit(join(migrations, name), (content) => content.replaceAll('"public".', ''))
}

const read = (file: string) => readFileSync(file, 'utf8')
const edit = (file: string, change: (content: string) => string) =>
  writeFileSync(file, change(read(file)))
