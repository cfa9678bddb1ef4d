import { createApi } from '@parley/client/api'
import { createDeferred } from '@parley/client/internal/timing'
import { expect, test, vi } from 'vitest'
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

test.each([Number.NaN, -1])(
  'a call with timeoutMs %d is refused and not sent',
  async (timeoutMs) => {
    const fetch = vi.fn()
    const api = createApi({ url: 'http://test', fetch })
    await expect(api.service.live({}, { timeoutMs })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining(`timeoutMs is ${timeoutMs}`),
    })
    expect(fetch).not.toHaveBeenCalled()
  },
)
