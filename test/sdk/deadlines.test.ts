import { createApi } from '@parley/client/api'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { expect, test } from 'vitest'
import { stoppedClock } from '../support/scripted/time.ts'

test.each([Number.POSITIVE_INFINITY, 2 ** 31, 1e15])(
  'a call with timeoutMs %d has no deadline',
  async (timeoutMs) => {
    const clock = stoppedClock()
    const { promise, resolve } = createDeferred<Response>()
    const api = createApi({ url: 'http://test', fetch: () => promise })
    const answer = api.service.live({}, { timeoutMs })
    await clock.forward(86_400_000)
    resolve(Response.json({ status: 'ok' }))
    expect(await answer).toEqual({ status: 'ok' })
    expect(clock.timers()).toBe(0)
  },
)
