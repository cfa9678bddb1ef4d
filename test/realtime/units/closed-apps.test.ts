import { expect, test } from 'vitest'
import { chat, Listener } from '../hub/fixture.ts'
import { openDispatcher } from './dispatcher.ts'
import { ana } from './fixture.ts'

test.each(['this', 'another'])(
  'the new events of an app that was deleted on %s node and imported again are delivered',
  async (node) => {
    const { dispatcher, hub, memory, revocations } = await openDispatcher()
    const { subscription } = await new Listener().join(hub, chat)
    hub.publish(memory.appendSeveral(chat, 3))
    subscription.leave()
    const revoked = { appId: ana.appId, isClosed: true }
    if (node === 'this') revocations.publish(revoked)
    else dispatcher.receive({ kind: 'revoked', revoked })
    memory.rewind(chat, 1)
    const listener = new Listener()
    await listener.join(hub, chat)
    hub.publish([memory.append(chat)])
    expect(listener.received).toEqual([2])
  },
)
