import { checksum, parseAppFileLine } from '@parley/server/commands/app-file/format'

/** The text of a file whose lines were changed, with the counts and checksums that then match. */
function sealed(text: string) {
  let sum = ''
  let rows: string[] = []
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const parsed = parseAppFileLine(line)
      if (parsed?.kind === 'header') sum = checksum('', [line])
      if (parsed?.kind === 'row') rows.push(line)
      if (parsed?.kind !== 'batch') return line
      sum = checksum(sum, rows)
      const batch = { table: parsed.table, rows: rows.length, sha256: sum }
      rows = []
      return JSON.stringify({ batch })
    })
  return `${lines.join('\n')}\n`
}

/** A file in which some columns of one row of a table have other values: the row with `mark`. */
export const changed = (table: string, mark: string, values: Record<string, unknown>) => {
  return (text: string) => {
    const lines = text.split('\n')
    const end = lines.findIndex((line) => line.startsWith(`{"batch":{"table":"${table}"`))
    const at = lines.findLastIndex((line, index) => index < end && line.includes(mark))
    const { row } = JSON.parse(lines[at] ?? '')
    lines[at] = JSON.stringify({ row: { ...row, ...values } })
    return sealed(lines.join('\n'))
  }
}
