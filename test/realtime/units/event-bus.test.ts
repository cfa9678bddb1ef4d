import { createEventBus } from '@parley/server/core/event-bus'
import { expect, test } from 'vitest'
import { appId } from '../hub/fixture.ts'

test('a listener that has left the event bus gets no more events, and others do', () => {
  const { publisher, subscribe } = createEventBus()
  const received: string[] = []
  const listenerOf = (name: string) => ({
    publish: () => void received.push(name),
    broadcast: () => void received.push(name),
  })
  const leave = subscribe(listenerOf('first'))
  subscribe(listenerOf('second'))
  publisher.publish([])
  leave()
  publisher.publish([])
  publisher.broadcast({ kind: 'rights', appId, userId: 'ana' })
  expect(received).toEqual(['first', 'second', 'second', 'second'])
})
