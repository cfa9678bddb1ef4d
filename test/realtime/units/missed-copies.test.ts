import type { Db } from '@parley/server/db/client'
import { MissedCopies } from '@parley/server/realtime/missed-copies'
import { expect, test } from 'vitest'
import { chat } from '../hub/fixture.ts'

test('edits of channels that may have been missed are copied, also after a failure', async () => {
  const copied: unknown[][] = []
  let failure: Error | undefined = new Error('no database')
  const use = async () => {
    if (failure) throw failure
    return [{ topic: chat, offset: 7 }]
  }
  const copies = new MissedCopies({
    db: { use } as unknown as Db, // it only uses that
    copy: (...given) => void copied.push(given),
  })
  copies.missed(1_000)
  await expect(copies.catchUp()).rejects.toBe(failure)
  failure = undefined
  await copies.catchUp()
  await copies.catchUp()
  expect(copied).toEqual([[chat, 7]])
})
