const time = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short' })
const DAY_MS = 86_400_000

export const timeOf = (iso: string) => time.format(new Date(iso))
export const wholeTimeOf = (iso: string) => dateAndTime.format(new Date(iso))

export function dayOf(iso: string, now = new Date()) {
  const date = new Date(iso)
  if (isSameDay(date, now)) return 'Today'
  return isSameDay(date, new Date(now.getTime() - DAY_MS)) ? 'Yesterday' : day.format(date)
}

/** The time of today, else the day. */
export const shortTimeOf = (iso: string, now = new Date()) =>
  isSameDay(new Date(iso), now) ? timeOf(iso) : shortDay.format(new Date(iso))

export function agoOf(iso: string | null, now = Date.now()) {
  if (iso === null) return 'Never active'
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000)
  if (minutes < 2) return 'Active a moment ago'
  if (minutes < 60) return `Active ${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `Active ${hours} h ago` : `Active ${Math.floor(hours / 24)} d ago`
}

const isSameDay = (a: Date, b: Date) => a.toDateString() === b.toDateString()

export const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
export const replies = (count: number) => `${count} ${count === 1 ? 'reply' : 'replies'}`

/** "Ben", "Ben and Cleo", "Ben, Cleo and Dan". */
export const namesOf = (names: readonly string[]) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
export const firstName = (name: string) => name.split(' ')[0] ?? name
