import { IconButton } from './icon-button.tsx'
import { Icon } from './icons.tsx'
import { kinds, type WireFilter } from './wire-filter.ts'

type Props = {
  filter: WireFilter
  onFilter: (filter: WireFilter) => void
  isPaused: boolean
  /** How many entries came since the pause. */
  missed: number
  onPause: () => void
  onClear: () => void
  onClose: () => void
}

/** The filters of the log, and the buttons to hold, empty and close it. */
export function WireToolbar({ filter, onFilter, isPaused, missed, ...actions }: Props) {
  const toggle = (kind: (typeof kinds)[number]['kind']) => {
    const others = filter.hidden.filter((other) => other !== kind)
    onFilter({ ...filter, hidden: filter.hidden.includes(kind) ? others : [...others, kind] })
  }
  const pauseText = isPaused ? 'Resume' : 'Pause'
  return (
    <header className="wire-toolbar">
      <h2>Wire</h2>
      <fieldset className="wire-kinds">
        <legend className="sr-only">Kinds to show</legend>
        {kinds.map(({ kind, title }) => (
          <button
            key={kind}
            type="button"
            className={`chip wire-${kind}`}
            aria-pressed={!filter.hidden.includes(kind)}
            onClick={() => toggle(kind)}
          >
            {title}
          </button>
        ))}
      </fieldset>
      <input
        type="search"
        className="input"
        aria-label="Filter by text"
        placeholder="Filter by text"
        value={filter.text}
        onChange={({ target }) => onFilter({ ...filter, text: target.value })}
      />
      <button
        type="button"
        className="icon-button"
        aria-pressed={isPaused}
        title={pauseText}
        onClick={actions.onPause}
      >
        <Icon name={isPaused ? 'play' : 'pause'} size={16} />
        <span className={missed > 0 ? 'wire-missed' : 'sr-only'}>
          {pauseText}
          {missed > 0 && ` (${missed} new)`}
        </span>
      </button>
      <IconButton label="Clear" icon="delete" size={16} onClick={actions.onClear} />
      <IconButton
        label="Close wire view"
        title="Close"
        icon="close"
        size={16}
        onClick={actions.onClose}
      />
    </header>
  )
}
