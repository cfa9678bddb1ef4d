import { createEventBus } from '@parley/server/core/event-bus'
import { expect, test } from 'vitest'
import { appId } from '../hub/fixture.ts'

test('a listener that has left the event bus gets no more events, and others do', () => {
  const { publisher, subscribe } = createEventBus()
  const heard: string[] = []
  const listenerOf = (name: string) => ({
    publish: () => void heard.push(name),
    broadcast: () => void heard.push(name),
  })
  const leave = subscribe(listenerOf('first'))
  subscribe(listenerOf('second'))
  publisher.publish([])
  leave()
  publisher.publish([])
  publisher.broadcast({ kind: 'rights', appId, userId: 'ana' })
  expect(heard).toEqual(['first', 'second', 'second', 'second'])
})
