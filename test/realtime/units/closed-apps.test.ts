import { expect, test } from 'vitest'
import { chat, Listener, own } from '../hub/fixture.ts'
import { openDispatcher } from './dispatcher.ts'
import { ana } from './fixture.ts'

test.each([
  ['a channel', chat, 'this'],
  ['a channel', chat, 'another'],
  ['a user', own, 'this'],
])(
  'new events of %s of an app that was deleted and imported again are delivered',
  async (...of) => {
    const [, topic, node] = of
    const { dispatcher, hub, memory, revocations } = await openDispatcher()
    const { subscription } = await new Listener().join(hub, topic)
    hub.publish(memory.appendSeveral(topic, 3))
    subscription.leave()
    const revoked = { appId: ana.appId, isClosed: true }
    if (node === 'this') revocations.publish(revoked)
    else dispatcher.receive({ kind: 'revoked', revoked })
    memory.rewind(topic, 1)
    const listener = new Listener()
    await listener.join(hub, topic)
    hub.publish([memory.append(topic)])
    expect(listener.received).toEqual([2])
  },
)
