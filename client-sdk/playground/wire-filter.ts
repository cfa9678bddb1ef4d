import type { WireEntry, WireKind } from './wire-log.ts'

export const kinds = [
  { kind: 'call', title: 'Calls' },
  { kind: 'event', title: 'Events' },
  { kind: 'socket', title: 'Socket' },
  { kind: 'outbox', title: 'Outbox' },
] as const

export type WireFilter = { hidden: readonly WireKind[]; text: string }

/** The entries of the wanted kinds that contain the text, in their line or in their payload. */
export function filterEntries(entries: readonly WireEntry[], { hidden, text }: WireFilter) {
  const wanted = text.trim().toLowerCase()
  return entries.filter(
    (entry) =>
      !hidden.includes(entry.kind) &&
      (wanted === '' || textOf(entry).toLowerCase().includes(wanted)),
  )
}

const textOf = ({ userId, name, detail = '', outcome, payload }: WireEntry) =>
  `${userId} ${name} ${detail} ${outcome?.text ?? ''} ${JSON.stringify(payload) ?? ''}`
