/**
 * Signals that come while a server is still loaded, before `runProcess` knows what to stop. Node.js
 * would end with an error then, and not at all as the first process of a container.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

let isAskedToStop = false
const note = () => {
  isAskedToStop = true
}

export function noteSignals() {
  for (const signal of SIGNALS) process.on(signal, note)
}

/** Leaves signals to the caller from now on, and answers whether there was one. */
export function takeSignals() {
  for (const signal of SIGNALS) process.off(signal, note)
  return isAskedToStop
}
