import { createElement, type ReactNode } from 'react'

/** Something of the console, for an operator who is signed in. */
export async function inConsole(element: ReactNode) {
  const { SessionGate } = await import('@parley/client/internal/console/session.tsx')
  const { Toasts } = await import('@parley/client/internal/playground/toasts.tsx')
  return createElement(Toasts, null, createElement(SessionGate, null, element))
}
