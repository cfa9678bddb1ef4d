import { memo } from 'react'
import { Avatar } from './avatar.tsx'
import { Icon, type IconName } from './icons.tsx'
import { Json } from './wire-json.tsx'
import type { WireEntry, WireKind } from './wire-log.ts'

const icons: Record<WireKind, IconName> = {
  call: 'up',
  event: 'down',
  socket: 'plug',
  outbox: 'box',
}
const words: Record<WireKind, string> = {
  call: 'Call',
  event: 'Event',
  socket: 'Socket',
  outbox: 'Outbox',
}

type Props = { entry: WireEntry; isOpen: boolean; onToggle: (key: number) => void }

/** A line of the log; a click shows its payload. */
export const WireRow = memo(function WireRow({ entry, isOpen, onToggle }: Props) {
  const { key, kind, userId, at, name, detail, outcome, payload } = entry
  return (
    <li
      className={`wire-row wire-${kind}`}
      data-failed={outcome?.isGood === false}
      ref={isOpen ? reveal : null}
    >
      <button type="button" aria-expanded={isOpen} onClick={() => onToggle(key)}>
        <time dateTime={new Date(at).toISOString()}>{timeOf(at)}</time>
        <Avatar id={userId} name={userId} size="small" />
        <span className="wire-kind" title={words[kind]}>
          <Icon name={icons[kind]} size={14} />
          <span className="sr-only">
            {words[kind]} of {userId}:
          </span>
        </span>
        <span className="wire-name">{shorten(name)}</span>
        <span className="wire-detail">{shorten(detail ?? '')}</span>
        <span className="wire-outcome">{outcome && outcomeOf(outcome)}</span>
      </button>
      {isOpen && <Json value={payload ?? {}} />}
    </li>
  )
})

/** The payload of the last line opens below what is shown. */
const reveal = (row: HTMLElement | null) => row?.scrollIntoView({ block: 'nearest' })

const outcomeOf = ({ text, ms }: NonNullable<WireEntry['outcome']>) =>
  ms === undefined ? text : `${text} · ${Math.round(ms)} ms`

/** Ids with their last letters only, because the first ones tell the time. */
const shorten = (text: string) => text.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{6}/g, '…')

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const timeOf = (at: number) => `${clock.format(at)}.${String(at % 1000).padStart(3, '0')}`
