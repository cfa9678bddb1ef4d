/** How Postgres.js converts values: timestamps to ISO 8601 strings, and the arrays we use. */

/** Timestamps leave the database in the format of the API. */
const isoTimestamps = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: string | Date) => (value instanceof Date ? value.toISOString() : value),
  parse: (value: string) => (isInUtc(value) ? fromUtc(value) : new Date(value).toISOString()),
}

/** Connections ask for UTC (see connection.ts), so this is every timestamp of our time. */
const isInUtc = (value: string) => value.length > 21 && value[10] === ' ' && value.endsWith('+00')
const MILLISECONDS_END = 23
/** `2026-01-31 12:00:00.12+00` as `2026-01-31T12:00:00.120Z`: no date has to be made for it. */
const fromUtc = (value: string) => {
  // Most have milliseconds at least.
  if (value[19] === '.' && value.length >= MILLISECONDS_END + 3)
    return `${value.slice(0, 10)}T${value.slice(11, MILLISECONDS_END)}Z`
  const fraction = value[19] === '.' ? value.slice(20, value.lastIndexOf('+')).slice(0, 3) : ''
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${fraction.padEnd(3, '0')}Z`
}

type Element = string | number | boolean | null

/** A one-dimensional array type. Postgres.js knows array types only if it looks them up. */
const arrayOf = (type: number, parse: (element: string) => Element) => ({
  to: type,
  from: [type],
  serialize: (elements: Element[]) => `{${elements.map(serializeElement).join()}}`,
  parse: (text: string) => {
    const parseBare = (bare: string) => (bare === 'NULL' ? null : parse(bare))
    if (text === '{}') return []
    if (!text.includes('"')) return text.slice(1, -1).split(',').map(parseBare)
    const elements = text.matchAll(/"((?:[^"\\]|\\.)*)"|([^{},]+)/gs)
    return [...elements].map(([, quoted, bare = '']) => {
      if (quoted !== undefined) return parse(quoted.replace(/\\(.)/gs, '$1'))
      return parseBare(bare)
    })
  },
})

function serializeElement(element: Element) {
  if (element === null) return 'NULL'
  return typeof element === 'string' ? quoted(element) : String(element)
}

/** Most have nothing to escape. */
const quoted = (text: string) =>
  text.includes('"') || text.includes('\\')
    ? `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
    : `"${text}"`

export const valueTypes = {
  date: isoTimestamps,
  textArray: arrayOf(1009, String),
  uuidArray: arrayOf(2951, String),
  intArray: arrayOf(1007, Number),
  bigintArray: arrayOf(1016, Number),
  boolArray: arrayOf(1000, (element) => element === 't'),
  timestampArray: arrayOf(1185, isoTimestamps.parse),
}
