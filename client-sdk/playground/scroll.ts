import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** So near the end counts as being there. */
const END_PX = 48

/**
 * Keeps a list of messages where its reader has it: at the end while he is at the end, else on the row that he sees
 * first, whatever is loaded above or grows. A list that is not live has no end to stay at.
 */
export function useScroll({ lastOwn, isLive }: { lastOwn: string | undefined; isLive: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [place] = useState(() => createPlace(box))
  useLayoutEffect(() => {
    place.isLive = isLive
  }, [place, isLive])
  useLayoutEffect(() => {
    if (!box.current || !content.current) return
    const observer = new ResizeObserver(place.keep)
    observer.observe(content.current)
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [place])
  // Who writes wants to see what he wrote.
  useLayoutEffect(() => {
    if (lastOwn !== undefined) place.toEnd()
  }, [place, lastOwn])
  return { box, content, place }
}

/** Where the reader is. */
function createPlace(box: RefObject<HTMLElement | null>) {
  let isAtEnd = true
  let first: { row: Element; top: number } | undefined
  const topOf = (element: Element) => element.getBoundingClientRect().top
  const place = {
    isLive: true,
    remember: () => {
      if (!box.current) return
      const { scrollHeight, scrollTop, clientHeight } = box.current
      const top = topOf(box.current)
      isAtEnd = scrollHeight - scrollTop - clientHeight < END_PX
      const row = [...box.current.querySelectorAll('[data-row]')].find(
        (each) => each.getBoundingClientRect().bottom > top,
      )
      first = row && { row, top: topOf(row) - top }
    },
    keep: () => {
      if (!box.current) return
      if (isAtEnd && place.isLive) box.current.scrollTop = box.current.scrollHeight
      else if (first?.row.isConnected)
        box.current.scrollTop += topOf(first.row) - topOf(box.current) - first.top
      place.remember()
    },
    toEnd: () => {
      isAtEnd = true
      if (box.current) box.current.scrollTop = box.current.scrollHeight
    },
  }
  return place
}

/** Whether an element is seen by somebody. */
export function useIsSeen(element: RefObject<Element | null>) {
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    if (!element.current) return
    let isInView = false
    const tell = () => setSeen(isInView && document.visibilityState === 'visible')
    const observer = new IntersectionObserver(([entry]) => {
      isInView = entry?.isIntersecting ?? false
      tell()
    })
    observer.observe(element.current)
    document.addEventListener('visibilitychange', tell)
    return () => {
      observer.disconnect()
      document.removeEventListener('visibilitychange', tell)
    }
  }, [element])
  return isSeen
}

/** Calls back when an edge of the box comes near; again after each change of `again`, if it is near still. */
export function useNear(
  element: RefObject<Element | null>,
  { box, again, onNear }: { box: RefObject<Element | null>; again: unknown; onNear: () => void },
) {
  const latest = useRef(onNear)
  latest.current = onNear
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is loaded may be too little to move the edge away
  useEffect(() => {
    if (!element.current) return
    const observer = new IntersectionObserver(
      ([entry]) => entry?.isIntersecting && latest.current(),
      { root: box.current, rootMargin: '300px 0px' },
    )
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element, box, again])
}
