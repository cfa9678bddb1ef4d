import { expect, onTestFinished, test, vi } from 'vitest'
import { deciding, useHooks } from './fixture.ts'

const { current, newScene } = useHooks()

test.each([-1, 1])(
  'with a clock %i hours off a hook refuses no request for its time',
  async (hours) => {
    onTestFinished(() => void vi.useRealTimers())
    vi.setSystemTime(Date.now() + hours * 3_600_000)
    const { ana, channelId, send, asked } = await newScene()
    current().receiver.answerWith(deciding({ action: 'allow' }))
    const { id: messageId } = await send('one')
    await ana.messages.edit({ channelId, messageId, text: 'two' })
    const [{ now = 0 } = {}] = await current().world.db<{ now: number }[]>`
    select extract(epoch from clock_timestamp())::float as now`
    expect(asked()).toHaveLength(2)
    for (const { headers, timestamp } of asked()) {
      const times = [Number(headers['webhook-timestamp']), Date.parse(timestamp) / 1_000]
      for (const time of times) expect(Math.abs(time - now)).toBeLessThan(300)
    }
  },
)
