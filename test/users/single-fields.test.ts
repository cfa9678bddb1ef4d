import { expect, test } from 'vitest'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('each field of a profile is changed by itself, and the others stay', async () => {
  const { backend, db, appId } = world()
  const userId = 'fields-ana'
  const before = {
    ...{ name: 'Ana', email: 'ana@example.com', image: 'https://example.com/a.png' },
    custom: { plan: 'free' },
  }
  /** Users who were away receive profiles that have changed since. */
  const changedAt = async () => {
    const [user] = await db<{ at: string | null }[]>`
      select profile_changed_at as at
      from users
      where app_id = ${appId}
        and id = ${userId}`
    return user?.at ?? null
  }
  await backend.users.put({ userId, ...before })
  expect(await changedAt()).toBeNull()
  let shown = { ...before, id: userId, custom: { ...before.custom, email: before.email } }
  for (const [change, isProfile] of [
    [{ email: 'ana@example.org' }, false],
    [{ image: 'https://example.com/b.png' }, true],
    [{ custom: { plan: 'pro' } }, false],
    [{ name: 'Ana B' }, true],
  ] as const) {
    const last = await changedAt()
    shown = { ...shown, ...change, custom: { ...shown.custom } }
    if ('custom' in change) shown.custom.plan = change.custom.plan
    shown.custom.email = shown.email
    expect(await backend.users.put({ userId, ...change })).toEqual(shown)
    const now = await changedAt()
    expect(now !== last, JSON.stringify(change)).toBe(isProfile)
  }
})

test('an e-mail address that is too long is refused for its length alone', async () => {
  const put = world().backend.users.put({ userId: 'fields-ben', email: 'a'.repeat(321) })
  await expect(put).rejects.toThrow(/^email: Too big: [^;]+$/)
})
