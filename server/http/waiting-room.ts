import { AdmissionError, FULL } from '../core/admission.ts'

/** An amount of waiting commands and their approximate bytes. */
export type Amount = { commands: number; bytes: number }

/**
 * Bounds the waiting commands. One group may take all of `most`, and one resource half of it, so
 * that a locked or flooded channel leaves room for the others.
 */
export function createWaitingRoom(most: Amount, onRefused: () => void) {
  const half = { commands: Math.ceil(most.commands / 2), bytes: Math.ceil(most.bytes / 2) }
  const groups = createTally(most)
  const resources = createTally(half)

  /** Takes a place, and returns the function that frees it. Throws if a bound would be exceeded. */
  const enter = ({ group, resource }: { group: string; resource: string }, bytes: number) => {
    if (!groups.hasRoom(group) || !resources.hasRoom(resource)) {
      onRefused()
      throw new AdmissionError(FULL)
    }
    groups.add(group, { commands: 1, bytes })
    resources.add(resource, { commands: 1, bytes })
    return () => {
      groups.add(group, { commands: -1, bytes: -bytes })
      resources.add(resource, { commands: -1, bytes: -bytes })
    }
  }
  return { enter }
}

function createTally(most: Amount) {
  const taken = new Map<string, Amount>()
  const hasRoom = (key: string) => {
    const { commands, bytes } = taken.get(key) ?? { commands: 0, bytes: 0 }
    return commands < most.commands && bytes < most.bytes
  }
  const add = (key: string, amount: Amount) => {
    const { commands, bytes } = taken.get(key) ?? { commands: 0, bytes: 0 }
    const now = { commands: commands + amount.commands, bytes: bytes + amount.bytes }
    if (now.commands === 0) taken.delete(key)
    else taken.set(key, now)
  }
  return { hasRoom, add }
}
