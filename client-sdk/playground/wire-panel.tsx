import { useStore } from '@parley/client/react'
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { isForInputMethod } from './input-method.ts'
import { filterEntries, type WireFilter } from './wire-filter.ts'
import type { WireEntry, WireLog } from './wire-log.ts'
import { WireRow } from './wire-row.tsx'
import { WireToolbar } from './wire-toolbar.tsx'

/** How far from its end the list may be scrolled and still follow it, in pixels. */
const NEAR_END = 24

/** Each call, event and outbox step of the page's users as it happens, the newest at the end. */
export function WirePanel({ log, onClose }: { log: WireLog; onClose: () => void }) {
  const current = useStore(log.entries)
  const [paused, setPaused] = useState<readonly WireEntry[]>()
  const [filter, setFilter] = useState<WireFilter>({ hidden: [], text: '' })
  const [openKeys, setOpenKeys] = useState<readonly number[]>([])
  const shown = useMemo(() => filterEntries(paused ?? current, filter), [paused, current, filter])
  const list = useFollowedEnd(shown)
  const toggle = useCallback(
    (key: number) =>
      setOpenKeys((keys) =>
        keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key],
      ),
    [],
  )
  const lastKey = paused?.at(-1)?.key ?? -1
  return (
    <section
      className="wire"
      aria-label="Wire"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isForInputMethod(event)) onClose()
      }}
    >
      <WireToolbar
        filter={filter}
        onFilter={setFilter}
        isPaused={paused !== undefined}
        missed={paused ? current.filter(({ key }) => key > lastKey).length : 0}
        onPause={() => setPaused(paused ? undefined : current)}
        onClear={() => {
          log.clear()
          setPaused(undefined)
        }}
        onClose={onClose}
      />
      <div className="wire-list" ref={list.box} onScroll={list.remember}>
        {shown.length === 0 && (
          <p className="empty">
            {current.length === 0
              ? 'Nothing yet. Send a message, and watch what it takes.'
              : 'Nothing matches the filter.'}
          </p>
        )}
        <ol aria-label="Wire log">
          {shown.map((entry) => (
            <WireRow
              key={entry.key}
              entry={entry}
              isOpen={openKeys.includes(entry.key)}
              onToggle={toggle}
            />
          ))}
        </ol>
      </div>
    </section>
  )
}

/** Keeps the end of a list in view, unless the user has scrolled away from it. */
function useFollowedEnd(items: readonly unknown[]) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the items
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [items])
  const remember = () => {
    if (!box.current) return
    const { scrollTop, scrollHeight, clientHeight } = box.current
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END
  }
  return { box, remember }
}
