import { useCallback, useEffect, useRef, useState } from 'react'
import { describeError } from './describe-error.ts'
import { useSession } from './session.tsx'
import type { Problem } from './use-data.ts'

type RowPage<Row> = { rows: Row[]; nextCursor: string | null }
type State<Row> = {
  rows: Row[]
  nextCursor: string | null
  isLoading: boolean
  problem?: Problem
}
export type Pages<Row> = Omit<State<Row>, 'nextCursor'> & {
  hasMore: boolean
  loadMore: () => void
  /** Starts again with the first page. */
  reload: () => void
}

/** How many pages without a row are skipped: a search looks at a slice of a list at a time. */
const EMPTY_PAGES = 10

async function nextRows<Row>(
  load: (cursor: string | undefined) => Promise<RowPage<Row>>,
  { cursor, isWanted }: { cursor: string | undefined; isWanted: () => boolean },
) {
  let page = await load(cursor)
  for (let skipped = 0; skipped < EMPTY_PAGES && isWanted(); skipped++) {
    if (page.rows.length > 0 || page.nextCursor === null) break
    page = await load(page.nextCursor)
  }
  return page
}

const nothing = { rows: [], nextCursor: null, isLoading: true }

/** A list that is loaded page by page. Another key starts a new list. */
export function usePages<Row>(
  load: (cursor: string | undefined) => Promise<RowPage<Row>>,
  key: string,
): Pages<Row> {
  const { noteFailure } = useSession()
  const [state, setState] = useState<State<Row>>(nothing)
  const newestLoad = useRef(load)
  newestLoad.current = load
  /** An answer counts only if nothing was asked after it. */
  const asked = useRef(0)

  const loadFrom = useCallback(
    async (cursor: string | undefined, before: Row[]) => {
      asked.current += 1
      const own = asked.current
      const isWanted = () => own === asked.current
      setState(({ rows, nextCursor }) => ({ rows, nextCursor, isLoading: true }))
      try {
        const { rows, nextCursor } = await nextRows(newestLoad.current, { cursor, isWanted })
        if (isWanted()) setState({ rows: [...before, ...rows], nextCursor, isLoading: false })
      } catch (error) {
        if (!isWanted()) return
        noteFailure(error)
        setState((state) => ({ ...state, isLoading: false, problem: describeError(error) }))
      }
    },
    [noteFailure],
  )
  const reload = useCallback(() => void loadFrom(undefined, []), [loadFrom])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another key starts a new list
  useEffect(() => {
    setState(nothing)
    reload()
    return () => {
      asked.current += 1
    }
  }, [key, reload])

  const { nextCursor, ...shown } = state
  return {
    ...shown,
    hasMore: nextCursor !== null,
    loadMore: () => void loadFrom(nextCursor ?? undefined, shown.rows),
    reload,
  }
}
