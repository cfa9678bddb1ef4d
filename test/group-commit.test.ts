import { createGroupCommit } from '@parley/server/http/group-commit'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a command whose time runs out while its batch is put together is still answered', async () => {
  const attempt = createGroupCommit<string, string>({
    run: async (commands) => commands.map((command) => `${command} done`),
    maxBatchSize: 64,
  })
  let now = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now++)
  onTestFinished(() => clock.mockRestore())

  // At the first look at the clock there is just enough time left, at the second there is not.
  expect(await attempt('channel', 'send', 1_000)).toBe('send done')
})
