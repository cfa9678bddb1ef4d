import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { limits } from '@parley/contract'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { forge } from './support/forge.ts'
import { unknownId } from './support/ids.ts'
import { logLines } from './support/log-lines.ts'
import { post } from './support/raw.ts'
import { serveReceiver } from './support/receiver.ts'
import { RawSocket } from './support/socket.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('refused-log')
const world = useWorld()
let receiver: Awaited<ReturnType<typeof serveReceiver>>
let node: ReturnType<typeof start>
let url = ''
let app: { id: string; apiKey: string }

beforeAll(async () => {
  receiver = await serveReceiver()
  const { host } = new URL(receiver.url)
  const variables = { DATABASE_URL: world().databaseUrl, WEBHOOK_ALLOW_HOSTS: host }
  node = start({ ...production, ...variables }, directory)
  url = await node.address()
  app = await operator().apps.create({ name: 'Refused' })
})
afterAll(async () => {
  node?.kill('SIGKILL')
  await receiver?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const operator = () => createApi({ url, adminKey: production.ADMIN_API_KEY })
type Line = ReturnType<typeof logLines>[number]
const line = (find: (line: Line) => boolean) => until(() => logLines(node).find(find))

/** The same token, but expired. */
const expired = (token: string) =>
  forge(token, { secret: production.JWT_SECRET, payload: { iat: 1_000, exp: 2_000 } })

test('the log names the sender of a call whose token or app is refused', async () => {
  const other = await operator().apps.create({ name: 'Disabled later' })
  const backend = createApi({ url, apiKey: app.apiKey })
  const disabled = createApi({ url, apiKey: other.apiKey })
  const { token: old } = await backend.tokens.create({ userId: 'mia' })
  const { token: revoked } = await backend.tokens.create({ userId: 'noa' })
  const { token: unused } = await disabled.tokens.create({ userId: 'oli' })
  await backend.tokens.revoke({ userId: 'noa' })
  await operator().apps.update({ appId: other.id, enabled: false })
  const send = (token: string) =>
    createApi({ url, token }).messages.send({ channelId: unknownId, text: 'here?' })
  for (const token of [expired(old), revoked, unused])
    await expect(send(token)).rejects.toMatchObject({ name: 'ChatError' })
  for (const [user, of, code] of [
    ['mia', app, 'INVALID_TOKEN'],
    ['noa', app, 'INVALID_TOKEN'],
    ['oli', other, 'APP_DISABLED'],
  ] as const)
    expect(await line((line) => line.user === user && line.code !== undefined)).toMatchObject({
      operation: 'messages.send',
      app: of.id,
      code,
    })
})

test('the log says why each send was refused, and repeats nothing that was sent', async () => {
  const { id, apiKey } = await operator().apps.create({ name: 'Refusing' })
  await operator().apps.update({ appId: id, settings: { rateLimits: { messages: 1 } } })
  const backend = createApi({ url, apiKey })
  const as = async (userId: string) =>
    createApi({ url, token: (await backend.tokens.create({ userId })).token })
  const [owner, outsider, hasty, unlucky] = [
    await as('owner'),
    await as('outsider'),
    await as('hasty'),
    await as('unlucky'),
  ]
  const group = (name: string) =>
    owner.channels.create({ type: 'group', name, memberIds: ['hasty', 'unlucky'] })
  const [{ id: channelId }, { id: frozenId }] = [await group('Talk'), await group('Frozen')]
  await backend.channels.update({ channelId: frozenId, frozen: true })
  const refused = async (sender: typeof owner, message: { channelId: string; text: string }) => {
    await expect(sender.messages.send(message)).rejects.toMatchObject({ name: 'ChatError' })
  }
  await refused(owner, { channelId: frozenId, text: 'anybody?' })
  await refused(outsider, { channelId, text: 'let me in' })
  await hasty.messages.send({ channelId, text: 'first' })
  await refused(hasty, { channelId, text: 'second' })
  receiver.answerWith((response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ action: 'refuse', reason: 'Not the word turnip, please' })),
  )
  const hook = { url: `${receiver.url}/hook`, onError: 'allow' as const, timeoutMs: 2_000 }
  await backend.hooks.setBeforeSend(hook)
  await refused(unlucky, { channelId, text: 'a turnip' })
  await refused(await as('wordy'), { channelId, text: 'turnip '.repeat(10_000) })
  const reasonOf = async (user: string) =>
    (await line((line) => line.app === id && line.user === user && line.code !== undefined)).reason
  expect(await reasonOf('owner')).toBe('The channel is frozen')
  expect(await reasonOf('outsider')).toBe('You are not a member of this channel')
  expect(await reasonOf('hasty')).toMatch(/^Too many calls: at most 1 /)
  expect(await reasonOf('unlucky')).toBe('The before-send hook of the app refused it')
  expect(await reasonOf('wordy')).toBeUndefined()
  expect(node.output()).not.toContain('turnip')
})

test('the log counts what was refused of a batch that is repeated over the limit', async () => {
  const { id, apiKey } = await operator().apps.create({ name: 'Repeating' })
  await operator().apps.update({ appId: id, settings: { rateLimits: { messages: 2 } } })
  const { token } = await createApi({ url, apiKey }).tokens.create({ userId: 'una' })
  const { channels, messages } = createApi({ url, token })
  const { id: channelId } = await channels.create({ type: 'group', name: 'Talk', memberIds: [] })
  const send = (...keys: string[]) =>
    messages.sendBatch({ channelId, messages: keys.map((key) => ({ text: key, clientId: key })) })
  await send('a', 'b')
  const { results } = await send('c', 'a', 'd', 'b')
  expect(results.map(({ error }) => error?.code ?? 'stored')).toEqual([
    ...['RATE_LIMITED', 'stored', 'RATE_LIMITED', 'stored'],
  ])
  const counted = await line((line) => line.app === id && line.refused !== undefined)
  expect(counted).toMatchObject({
    operation: 'messages.sendBatch',
    status: 200,
    user: 'una',
    code: 'RATE_LIMITED',
    refused: 2,
  })
})

test('the log says that a body was too large', async () => {
  const { status } = await fetch(`${url}/api/channels/${unknownId}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'x'.repeat(limits.bodyBytes) }),
  })
  expect(status).toBe(413)
  expect(await line((line) => line.status === 413)).toMatchObject({
    route: '/api/channels/:channelId/messages',
    code: 'PAYLOAD_TOO_LARGE',
  })
})

test('the log names the origin of a page that may not call, nor open a socket', async () => {
  const origin = 'https://wrong.example.com'
  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'POST' }
  const ask = (headers: Record<string, string>) =>
    post(url, '/tokens', { method: 'OPTIONS', headers })
  expect((await ask(preflight)).status).toBe(204)
  await expect(RawSocket.open({ url }, { origin })).rejects.toThrow('answered 403')
  const named = (status: number) => line((line) => line.status === status && line.origin === origin)
  expect(await named(204)).toMatchObject({ code: 'FORBIDDEN', method: 'OPTIONS' })
  expect(await named(403)).toMatchObject({ code: 'FORBIDDEN' })
  await ask({ ...preflight, Origin: `https://${'long'.repeat(1_000)}.example.com` })
  const long = await line(({ origin }) => String(origin).startsWith('https://long'))
  expect(String(long.origin)).toHaveLength(200)
})

test('the log names the user of a socket that is refused', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const minted = await backend.tokens.create({ userId: 'pia' })
  const others = Array.from({ length: 20 }, () => RawSocket.connect({ url }, { minted }))
  const sockets = await Promise.all(others)
  onTestFinished(() => {
    for (const { socket } of sockets) socket.terminate()
  })
  const closedOf = async (wsToken: string) => {
    const socket = await RawSocket.open({ url })
    socket.send({ id: 1, connect: { token: wsToken } })
    const { code } = await socket.closed
    return code
  }
  expect(await closedOf(minted.wsToken)).toBe(4000)
  expect(await closedOf(expired(minted.wsToken))).toBe(3502)
  for (const code of [4000, 3502])
    expect(await line((line) => line.msg === 'socket closed' && line.code === code)).toMatchObject({
      app: app.id,
      user: 'pia',
    })
})

test('the log names the user of a token that is good for the other kind of request', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const [ren, sia] = [
    await backend.tokens.create({ userId: 'ren' }),
    await backend.tokens.create({ userId: 'sia' }),
  ]
  const socket = await RawSocket.open({ url })
  socket.send({ id: 1, connect: { token: ren.token } })
  expect((await socket.closed).code).toBe(3500)
  await expect(createApi({ url, token: sia.wsToken }).channels.list()).rejects.toMatchObject({
    code: 'INVALID_TOKEN',
  })
  const named = (user: string) => line((line) => line.user === user && line.app === app.id)
  expect(await named('ren')).toMatchObject({ msg: 'socket closed', code: 3500 })
  expect(await named('sia')).toMatchObject({ operation: 'channels.list', code: 'INVALID_TOKEN' })
})

test('the log cuts a long reason of a refusal', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const { token } = await backend.tokens.create({ userId: 'tia' })
  const memberIds = ['x'.repeat(limits.userIdLength)]
  const { channels } = createApi({ url, token })
  await expect(channels.create({ type: 'messaging', memberIds })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  const { reason } = await line(({ user, code }) => user === 'tia' && code !== undefined)
  expect(reason).toMatch(/^User not found: /)
  expect(String(reason)).toHaveLength(200)
})
