import { useEffect, useState } from 'react'

const KEY = 'parley-playground-wire'

/** Whether the wire view is open: remembered over visits. */
export function useWireSwitch() {
  const [isOpen, setOpen] = useState(() => localStorage.getItem(KEY) === 'open')
  useEffect(() => localStorage.setItem(KEY, isOpen ? 'open' : 'closed'), [isOpen])
  return [isOpen, setOpen] as const
}
