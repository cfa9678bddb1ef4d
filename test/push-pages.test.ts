import { expect, onTestFinished, test } from 'vitest'
import { drained, idle } from './support/idle.ts'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { usePushChannel } from './support/push.ts'
import { until } from './support/until.ts'

const { world, provider, current, settle, send, pushesTo } = usePushChannel()

test('2,500 members get one push each, in pages, although the provider fails twice', async () => {
  const { ana, ben, cleo, channelId } = current()
  const fans = await insertUsers(world(), `${ana.id}-fan`, 2_500)
  await insertMembers(world(), channelId, fans)
  let calls = 0
  provider().behave((response, call) => {
    calls += 1
    // All of the first page is put off, and a part of another one.
    const answer = calls === 1 || calls === 15 ? provider().answer(503) : provider().accept
    answer(response, call)
  })
  const jobsDone = async () => {
    const metrics = await world().metrics.registry.metrics()
    return Number(/push-message",outcome="done"} (\d+)/.exec(metrics)?.[1] ?? 0)
  }
  const before = await jobsDone()
  const { id } = await send(`hello @${fans[2_499]}`)
  await idle(world())
  const pushes = provider().triggered()
  const kinds = new Map(pushes.map(({ to, name }) => [to, name]))
  expect([...kinds.keys()].sort()).toEqual([...fans, ben.id, cleo.id].sort())
  // The two batches that the provider failed were sent again.
  expect(pushes).toHaveLength(2_502 + 200)
  expect(kinds.get(fans[2_499] ?? '')).toBe('mention')
  expect(new Set(pushes.map(({ payload }) => payload.messageId))).toEqual(new Set([id]))
  // Three pages, and the jobs that made what was left of two of them again.
  expect((await jobsDone()) - before).toBe(5)
})

test('messages of large and small channels in one batch reach every member once', async () => {
  const { ana, ben, channelId } = current()
  const fans = await insertUsers(world(), `${ana.id}-fan`, 700)
  await insertMembers(world(), channelId, fans)
  const other = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
  await settle()
  const sent = await Promise.all([
    send('one'),
    send('two'),
    ana.messages.send({ channelId: other.id, text: 'three' }),
  ])
  await idle(world())
  const pushes = provider().triggered()
  const ids = pushes.map(({ transactionId }) => transactionId)
  expect(ids).toHaveLength(2 * 702 + 1)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { id } of sent)
    expect(pushesTo(ben.id).filter(({ payload }) => payload.messageId === id)).toHaveLength(1)
})

test('a push of another app comes before the later pages of many large channels', async () => {
  const { ana, channelId } = current()
  const fanOuts = 16
  const fans = await insertUsers(world(), `${ana.id}-fan`, 1_100)
  await insertMembers(world(), channelId, fans)
  const other = await world().stranger()
  await other.users.sync({ users: [{ id: 'eve' }] })
  const finn = await world().user('finn', {}, other)
  const small = await finn.channels.create({ type: 'group', name: 'Two', memberIds: ['eve'] })
  const { id } = await send('to all')
  await settle()
  const [first = '', last = ''] = [fans.toSorted()[0], fans.toSorted().at(-1)]
  const isLastPage = (text: unknown) => JSON.stringify(text).includes(`"${last}"`)
  const held: (() => void)[] = []
  provider().behave((response, call) => {
    if (isLastPage(call.body)) held.push(() => provider().accept(response, call))
    else provider().accept(response, call)
  })
  const job = { appId: world().appId, messageId: id }
  await world().db`
    select graphile_worker.add_job(
      'push-message',
      json_build_object('jobs', ${world().db.json([job])}, 'since', now(), 'tries', 0)
    )
    from generate_series(1, ${fanOuts}::int)`
  // All first pages are sent, and each of the four workers has begun a last one.
  await until(() => provider().kindsFor(first).length === fanOuts && held.length === 4)
  await finn.messages.send({ channelId: small.id, text: 'to eve' })
  await drained(world())
  // One page ends at a time, so that whatever begins next is what the queue has next.
  let ended = 0
  const begun = () => held.length + provider().kindsFor('eve').length
  while (provider().kindsFor('eve').length === 0) {
    const before = begun()
    held[ended]?.()
    ended += 1
    await until(() => begun() > before)
  }
  // Four run, four more have been fetched, and the next fetch has it and at most three others.
  expect(held.length).toBeLessThanOrEqual(4 + 4 + 3)
  provider().behave()
  for (const release of held.slice(ended)) release()
  await idle(world())
  expect(provider().kindsFor(last)).toHaveLength(fanOuts)
})

test('pushes of an app that make the provider fail do not delay those of other apps', async () => {
  const { ben } = current()
  const other = await world().stranger()
  await other.users.sync({ users: [{ id: 'eve' }] })
  const finn = await world().user('finn', {}, other)
  const small = await finn.channels.create({ type: 'group', name: 'Two', memberIds: ['eve'] })
  const [ours, theirs] = await Promise.all([
    send('hi'),
    finn.messages.send({ channelId: small.id, text: 'to eve' }),
  ])
  await settle()
  let taken = ''
  provider().behave((response, call) => {
    const body = JSON.stringify(call.body)
    if (body.includes(ben.id)) return provider().answer(503)(response, call)
    taken += body
    provider().accept(response, call)
  })
  const jobs = [
    { appId: world().appId, messageId: ours.id },
    { appId: finn.minted.appId, messageId: theirs.id },
  ]
  await world().db`
    insert into staged_jobs (task, payload)
    select 'push-message', job
    from jsonb_array_elements(${world().db.json(jobs)}) with ordinality as staged (job, n)
    order by n`
  await until(() => taken.includes('to eve'))
  provider().behave()
  await idle(world())
})

test('an invite that the provider took for one user is sent again to the other alone', async () => {
  const { ana, ben, cleo } = current()
  const trouble = { status: 'error', error: ['connect ECONNREFUSED 10.0.0.7:6379'] }
  provider().decide(({ to }) =>
    to === ben.id && pushesTo(ben.id).length === 1 ? trouble : { status: 'processed' },
  )
  onTestFinished(() => provider().decide())
  const memberIds = [ben.id, cleo.id]
  await ana.channels.create({ type: 'group', name: 'Trip', memberIds })
  await idle(world())
  const invites = memberIds.map((id) => provider().kindsFor(id))
  expect(invites).toEqual([['channel-invite', 'channel-invite'], ['channel-invite']])
})

test('a message that ends before it has any text is not pushed', async () => {
  const { ana, channelId } = current()
  const open = () => ana.messages.send({ channelId, text: '', streaming: true })
  const [{ id: messageId }, written] = [await open(), await open()]
  await ana.streams.finish({ channelId, messageId })
  await ana.streams.append({ channelId, messageId: written.id, text: 'Hello', at: 0 })
  await ana.streams.finish({ channelId, messageId: written.id })
  await idle(world())
  const pushed = provider().triggered()
  expect(new Set(pushed.map(({ payload }) => payload.messageId))).toEqual(new Set([written.id]))
})
