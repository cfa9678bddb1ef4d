import type { BeforeSendQuestion } from '@parley/contract'
import { limits } from '@parley/contract'
import { type BeforeSendHook, createAskBeforeSend } from '@parley/server/core/before-send'
import { UnfetchableError } from '@parley/server/core/guarded-request'
import { createMetrics } from '@parley/server/core/metrics'
import { expect, test } from 'vitest'

test('a failed request to a hook frees its slot for others', async () => {
  let asked = 0
  const ask = createAskBeforeSend({
    request: async () => {
      asked += 1
      throw new UnfetchableError('not today')
    },
    metrics: createMetrics(),
    log: { warn: () => {} },
  })
  const hook: BeforeSendHook = {
    ...{ url: 'https://screen.example.com', onError: 'deny', timeoutMs: 1_000 },
    secrets: ['whsec_c2VjcmV0'],
  }
  const question = { appId: 'app', data: { text: 'hello', attachments: [] } }
  const count = limits.beforeSend.atOnce + 1
  for (let sent = 0; sent < count; sent++)
    expect(await ask(hook, question as never as BeforeSendQuestion)) // what it looks at
      .toMatchObject({ action: 'refuse' })
  expect(asked).toBe(count)
})
