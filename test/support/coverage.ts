/** Sections, their rows, and what holds each row: see spec-coverage.ts. */
export type Specification = Record<string, Record<string, string[]>>

/** What is wrong with it: rows that nothing holds, and tests that are not there. `tests` are `file › test`. */
export function problemsOf(specification: Specification, tests: string[]) {
  const exists = (holder: string) => tests.some((test) => test === holder || test.startsWith(`${holder} > `))
  return rowsOf(specification).flatMap(({ section, row, holders }) => [
    ...(holders.length === 0 ? [`${section}, ${row}: nothing holds it`] : []),
    ...holders.filter((holder) => !exists(holder)).map((holder) => `${section}, ${row}: there is no "${holder}"`),
  ])
}

/** The page that shows it. */
export function pageOf(specification: Specification) {
  const rows = rowsOf(specification)
  const sections = Object.entries(specification).map(([section, rows]) => {
    const lines = Object.entries(rows).map(([row, holders]) => `| ${plain(row)} | ${holders.map(toLink).join('<br>')} |`)
    return [`## ${section}`, '', '| | held by |', '|---|---|', ...lines, ''].join('\n')
  })
  return `# What holds the specification

Every row of the specification's tables and every rule it numbers (a + marks other sentences of it), and the tests that
hold it. Made by \`npm run coverage:spec\` from [spec-coverage.ts](spec-coverage.ts); \`npm run check\` tells when a test
is missing or this page is old.

There are ${rows.length} rows, and tests hold them all.

${sections.join('\n')}`
}

const rowsOf = (specification: Specification) =>
  Object.entries(specification).flatMap(([section, rows]) => Object.entries(rows).map(([row, holders]) => ({ section, row, holders })))

const toLink = (holder: string) => {
  const [file = '', name = ''] = holder.split(' › ')
  return `[${file}](${file}.test.ts) › ${plain(name)}`
}
const plain = (text: string) => text.replace(/[|*<_\\]/g, '\\$&')
