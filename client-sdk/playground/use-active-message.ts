import { useRef, useState } from 'react'

/** The keys of the messages that are hovered, have the focus, or have an open menu (held). */
export type ActiveMessage = {
  hovered?: string | undefined
  focused?: string | undefined
  held?: string | undefined
}

/** Tracks which message shows its tools: the held one, else the hovered, else the focused one. */
export function useActiveMessage() {
  const [active, setActive] = useState<ActiveMessage>({})
  const change = useRef((next: ActiveMessage) => setActive((before) => ({ ...before, ...next })))
  return [active, change.current] as const
}
