import { useRef, useState } from 'react'

/** The keys of the messages that are hovered, have the focus, or have an open menu (held). */
export type ActiveMessage = {
  hovered?: string | undefined
  focused?: string | undefined
  held?: string | undefined
}
/** A change, and the key of a message that has lost the focus, unless another one has it. */
export type ActiveChange = ActiveMessage & { blurred?: string }

/** Tracks which message shows its tools: the held one, else the hovered, else the focused one. */
export function useActiveMessage() {
  const [active, setActive] = useState<ActiveMessage>({})
  const change = useRef(({ blurred, ...next }: ActiveChange) =>
    setActive(({ focused, ...before }) => ({
      ...before,
      focused: focused === blurred ? undefined : focused,
      ...next,
    })),
  )
  return [active, change.current] as const
}
