import { agoOf, wholeTimeOf } from './format.ts'

/** A time as people say it, with the whole time in the tooltip. */
export const When = ({ iso, never = 'Never' }: { iso: string | null; never?: string }) =>
  iso === null ? (
    <span className="muted">{never}</span>
  ) : (
    <time dateTime={iso} title={wholeTimeOf(iso)}>
      {agoOf(iso)}
    </time>
  )
