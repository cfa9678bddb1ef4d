import type { ChatMessage } from '@parley/client'
import { useEffect, useRef } from 'react'

/** The number of messages from others since the end of the list was last visible. */
export function useUnseenCount(
  items: readonly ChatMessage[],
  { isEndVisible, me }: { isEndVisible: boolean; me: string },
) {
  const lastSeenSeq = useRef(Number.POSITIVE_INFINITY)
  const newestSeq = items.findLast(({ status }) => status === 'sent')?.seq
  useEffect(() => {
    if (isEndVisible && newestSeq !== undefined) lastSeenSeq.current = newestSeq
  }, [isEndVisible, newestSeq])
  if (isEndVisible) return 0
  const unseen = items.filter(
    ({ seq, userId, status }) => status === 'sent' && seq > lastSeenSeq.current && userId !== me,
  )
  return unseen.length
}
