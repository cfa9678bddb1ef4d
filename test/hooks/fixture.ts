import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll } from 'vitest'
import { serveReceiver } from '../support/receiver.ts'
import { createWorld, type World } from '../support/world.ts'

type Fixture = { world: World; receiver: Awaited<ReturnType<typeof serveReceiver>> }
type Hook = Parameters<World['backend']['hooks']['setBeforeSend']>[0]

/** A world whose hooks are served by a receiver on this machine. */
export function useHooks() {
  let fixture: Fixture | undefined
  const current = () => {
    if (!fixture) throw new Error('the world exists only while tests run')
    return fixture
  }
  beforeAll(async () => {
    const receiver = await serveReceiver()
    const webhooks = { allowedHosts: [receiver.host], mustBeHttps: false }
    // Fewer connections than messages that wait for their hook.
    fixture = { world: await createWorld({ poolSize: 3, webhooks }), receiver }
  })
  afterAll(async () => {
    await fixture?.world.stop()
    await fixture?.receiver.stop()
  })

  /** An app with a hook at a path of its own, and a group of ana's with ben. */
  const newScene = async (hook: Partial<Hook> = {}) => {
    const { world, receiver } = current()
    receiver.behave()
    const { id: appId, apiKey } = await world.operator.apps.create({ name: 'Screened' })
    const backend = world.api({ apiKey })
    const path = `/${appId}`
    const { secret } = await backend.hooks.setBeforeSend({
      url: `${receiver.url}${path}`,
      onError: 'deny',
      ...hook,
    })
    // A busy machine is no reason for an answer to come too late.
    const waitLong = () => world.db`
      update before_send_hooks
      set timeout_ms = 60000
      where app_id = ${appId}`
    if (hook.timeoutMs === undefined) await waitLong()
    const userOf = async (userId: string) =>
      world.api({ token: (await backend.tokens.create({ userId })).token })
    const [ana, ben] = [await userOf('ana'), await userOf('ben')]
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    const send = (text: string, more: object = {}) =>
      ana.messages.send({ channelId, text, ...more })
    const stored = async () =>
      (await backend.messages.list({ channelId })).messages.map(({ seq, text }) => [seq, text])
    const asked = () => receiver.at(path)
    const users = { userOf, ana, ben }
    return { ...users, appId, apiKey, backend, secret, waitLong, channelId, send, stored, asked }
  }
  return { current, newScene }
}

/** The answer of a hook. */
export const deciding = (answer: unknown) => (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
