/** A table as `{ [row]: { [column]: cell } }`. */
export function rows(table: string): Record<string, Record<string, string>> {
  const [columns = [], ...lines] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  return Object.fromEntries(
    lines.map(([name, ...cells]) => [
      name,
      Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? 'missing'])),
    ]),
  )
}
