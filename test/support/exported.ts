import type { World } from './world.ts'

export type Item = { kind: string; data: Record<string, unknown> }

/** All items of the export of a user, page by page. */
export async function exportOf({ backend }: Pick<World, 'backend'>, userId: string) {
  const items: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await backend.users.export({ userId, ...(cursor ? { cursor } : {}) })
    items.push(...page.items)
    cursor = page.nextCursor
  }
  return items
}
