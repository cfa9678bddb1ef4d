import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** How near the end counts as being at the end. */
const END_PX = 48
/** How near an edge starts loading. */
const EDGE_MARGIN = '300px 0px'

type ScrollOptions = {
  /** The key of the user's newest unsent message: a new one scrolls to the end. */
  lastOwnKey: string | undefined
  /** Whether the newest messages are loaded: else the list has no end to stay at. */
  isLive: boolean
}

/**
 * Keeps the scroll position while messages load or grow: at the end if the reader is there, else at
 * the first visible row.
 */
export function useScroll({ lastOwnKey, isLive }: ScrollOptions) {
  const box = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [position] = useState(() => createScrollPosition(box))
  useLayoutEffect(() => {
    position.isLive = isLive
  }, [position, isLive])
  useLayoutEffect(() => {
    if (!box.current || !content.current) return
    const observer = new ResizeObserver(position.restore)
    observer.observe(content.current)
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [position])
  useLayoutEffect(() => {
    if (lastOwnKey !== undefined) position.toEnd()
  }, [position, lastOwnKey])
  return { box, content, position }
}

function createScrollPosition(box: RefObject<HTMLElement | null>) {
  let isAtEnd = true
  let lastTop = 0
  let firstVisible: { row: Element; top: number } | undefined
  const topOf = (element: Element) => element.getBoundingClientRect().top
  const position = {
    isLive: true,
    remember: () => {
      if (!box.current) return
      const { scrollHeight, scrollTop, clientHeight } = box.current
      const top = topOf(box.current)
      const isNearEnd = scrollHeight - scrollTop - clientHeight < END_PX
      // A list that grows before it is told of its own scrolling is still at its end.
      isAtEnd = isNearEnd || (isAtEnd && scrollTop >= lastTop)
      lastTop = scrollTop
      const rows = [...box.current.querySelectorAll('[data-row]')]
      const row = rows.find((candidate) => candidate.getBoundingClientRect().bottom > top)
      firstVisible = row && { row, top: topOf(row) - top }
    },
    restore: () => {
      if (!box.current) return
      if (isAtEnd && position.isLive) {
        box.current.scrollTop = box.current.scrollHeight
      } else if (firstVisible?.row.isConnected) {
        const top = topOf(firstVisible.row) - topOf(box.current)
        box.current.scrollTop += top - firstVisible.top
      }
      position.remember()
    },
    /** Before the list is scrolled to a row of it. */
    leaveEnd: () => {
      isAtEnd = false
    },
    toEnd: () => {
      isAtEnd = true
      if (box.current) box.current.scrollTop = box.current.scrollHeight
    },
  }
  return position
}

/** Whether an element is in view, in a visible tab. */
export function useIsVisible(element: RefObject<Element | null>) {
  const [isVisible, setVisible] = useState(false)
  useEffect(() => {
    if (!element.current) return
    let isInView = false
    const update = () => setVisible(isInView && document.visibilityState === 'visible')
    const observer = new IntersectionObserver(([entry]) => {
      isInView = entry?.isIntersecting ?? false
      update()
    })
    observer.observe(element.current)
    document.addEventListener('visibilitychange', update)
    return () => {
      observer.disconnect()
      document.removeEventListener('visibilitychange', update)
    }
  }, [element])
  return isVisible
}

type NearEdgeOptions = {
  box: RefObject<Element | null>
  /** The edge is checked again when this changes: one load may not move it away. */
  recheckOn: unknown
  onNear: () => void
}

/** Calls `onNear` when an edge of the box comes near. */
export function useNearEdge(
  edge: RefObject<Element | null>,
  { box, recheckOn, onNear }: NearEdgeOptions,
) {
  const latest = useRef(onNear)
  latest.current = onNear
  // biome-ignore lint/correctness/useExhaustiveDependencies: recheckOn observes the edge again
  useEffect(() => {
    if (!edge.current) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) latest.current()
      },
      { root: box.current, rootMargin: EDGE_MARGIN },
    )
    observer.observe(edge.current)
    return () => observer.disconnect()
  }, [edge, box, recheckOn])
}
