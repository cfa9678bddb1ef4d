const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const number = new Intl.NumberFormat()
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })

/** "Nov 27, 2026, 2:03:05 PM GMT+1": in the zone of the browser, which it names. */
export const wholeTimeOf = (iso: string) => dateAndTime.format(new Date(iso))
/** The time zone of the fields for times: "Europe/Berlin". */
export const timeZone = dateAndTime.resolvedOptions().timeZone

/** The time in a field, which has the browser's time zone, as the server takes it. */
export function isoOf(local: string) {
  const time = new Date(local)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/** A time as a field for it shows it, to the second. */
export function localOf(iso: string) {
  const time = new Date(iso)
  const minutes = time.getTimezoneOffset()
  return new Date(time.getTime() - minutes * 60_000).toISOString().slice(0, 19)
}

export const countOf = (count: number) => number.format(count)
/** "12,345", and "1.2M" where there is no room for all digits. */
export const shortCountOf = (count: number) =>
  count < 100_000 ? number.format(count) : compact.format(count)

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

export const isPast = (iso: string, now = Date.now()) => Date.parse(iso) <= now

/** "5 min. ago", "in 2 days". */
export function agoOf(iso: string, now = Date.now()) {
  const seconds = (Date.parse(iso) - now) / 1_000
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  return relative.format(Math.trunc(seconds / length), unit)
}

const BYTE_UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

export function bytesOf(bytes: number) {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3))
  const value = bytes / 1_000 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[power]}`
}
