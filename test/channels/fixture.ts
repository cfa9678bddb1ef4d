import type { World } from '../support/world.ts'

/** Makes another app, with users of its own. */
export const otherAppIn = (world: () => World) => async () => {
  const backend = await world().stranger()
  return { user: (id: string) => world().user(id, {}, backend) }
}
