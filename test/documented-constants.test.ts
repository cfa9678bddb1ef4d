import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ofBackground } from './documented-constants/background.ts'
import { ofForeground } from './documented-constants/foreground.ts'

/**
 * Numbers of the pages that are constants of one file, of no use to others. The file has to declare
 * what the page says: whoever changes one finds the other here. `documented-numbers.test.ts` has
 * the limits, the settings and the timings.
 */
const rows = Object.entries({ ...ofForeground, ...ofBackground }).flatMap(([file, constants]) =>
  constants.map(([declaration, page, promise]) => ({ file, declaration, page, promise })),
)

test.each(rows)('$page says what $file declares: $promise', ({ file, declaration, ...said }) => {
  expect(textOf(said.page).replace(/\s+/g, ' ')).toContain(said.promise)
  expect(declarationsIn(file)).toContain(declaration)
})

const textOf = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** The lines of a file without what is before a name and after a value. */
const declarationsIn = (file: string) =>
  textOf(file)
    .split('\n')
    .map((line) => line.trim().replace(/^(export )?const |,$/g, ''))
