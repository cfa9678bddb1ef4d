import type { Store } from '@parley/client'
import { ready, until } from '../chat.ts'
import type { stoppedClock } from './time.ts'

/** Opens a part of a room until it is ready, and leaves it until the client does so, too. */
export async function openAndLeave(
  store: Store<{ status: string }>,
  clock: ReturnType<typeof stoppedClock>,
  whileOpen = async () => {},
) {
  const leave = store.subscribe(() => {})
  await clock.forward(10)
  await until(store, ready)
  await whileOpen()
  leave()
  await clock.forward(2_000)
}
