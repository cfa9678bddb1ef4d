import { expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { insertUsers } from './support/inserted.ts'
import { withoutCleanup } from './support/locks.ts'
import { serveProvider } from './support/provider.ts'
import { NEVER, quietTimings } from './support/quiet.ts'
import { isElsewhere, onStatement, statements, workOf } from './support/statements.ts'
import { createWorld } from './support/world.ts'

/** Nodes send no statements of their own for as long as a test takes. */
/**
 * Statements of moving jobs to the queue, of heartbeats, of looking for webhooks, and of a cleanup
 * that may not run.
 */
const isBackground = (statement: string) =>
  /staged_jobs set|from staged_jobs|job_workers|force_unlock|_try_advisory_lock|_private_jobs/.test(
    statement,
  ) || /from webhooks wh|reschedule_jobs/.test(statement)

test('a message is pushed to hundreds of members with as many statements as to two', async () => {
  const provider = await serveProvider()
  const pushing = await createWorld({
    onStatement,
    poolSize: 1,
    timings: quietTimings,
    jobs: { push: provider.settings },
  })
  onTestFinished(async () => {
    await pushing.stop()
    await provider.stop()
  })
  const [ana] = await pushing.users('ana', 'ben')
  const extras = await insertUsers(pushing, 'extra', 300)
  const statementsFor = async (memberIds: string[]) => {
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
    const work = async () => {
      await idle(pushing)
      provider.forget()
      statements.length = 0
      await ana.messages.send({ channelId, text: 'hello' })
      await idle(pushing)
      expect(provider.triggered()).toHaveLength(memberIds.length)
      return statements.filter((statement) => !isElsewhere(statement) && !isBackground(statement))
    }
    await work()
    return work()
  }
  // It is due at every full minute.
  await withoutCleanup(pushing, async () => {
    const few = await statementsFor(['ben', 'extra1'])
    expect(await statementsFor(extras.slice(0, 299))).toEqual(few)
    // Six are the send's.
    expect(few).toHaveLength(7)
  })
})

test('staging previews and pushes takes no additional statement', async () => {
  const workflows = {
    'new-message': 'm',
    mention: 'm',
    'channel-invite': 'c',
    reaction: 'r',
    'thread-reply': 't',
  }
  const push = { secretKey: 'key', apiUrl: 'http://127.0.0.1:9', tenantId: undefined, workflows }
  const withPush = await createWorld({
    onStatement,
    poolSize: 1,
    timings: quietTimings,
    jobs: { isElsewhere: true, push, timings: { heartbeatMs: NEVER } },
  })
  try {
    const [ana] = await withPush.users('ana', 'ben')
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    const send = () => ana.messages.send({ channelId, text: 'look https://example.com/' })
    await send()
    expect(await workOf(send)).toHaveLength(4)
    expect(
      await withPush.db`
        select task
        from staged_jobs
        where task in ('preview', 'push-message')`,
    ).toHaveLength(4)
  } finally {
    await withPush.stop()
  }
})
