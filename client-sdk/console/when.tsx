import { agoOf, wholeTimeOf } from './format.ts'

type Props = {
  iso: string | null
  /** The text that is shown if there is no time. */
  never?: string
  /** Shows the time itself, which can be compared with logs. */
  isExact?: boolean
}

/** A time as people say it. The tooltip has the whole time, and in UTC as the log has it. */
export const When = ({ iso, never = 'Never', isExact = false }: Props) =>
  iso === null ? (
    <span className="muted">{never}</span>
  ) : (
    <time dateTime={iso} title={`${wholeTimeOf(iso)}\n${iso}`}>
      {isExact ? wholeTimeOf(iso) : agoOf(iso)}
    </time>
  )
