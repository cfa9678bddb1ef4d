import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { databaseError } from '@parley/server/commands/database-error'
import { migrate } from '@parley/server/db/migrate'
import { expect, inject, onTestFinished, test } from 'vitest'

const withParts = (parts: Partial<Record<'password' | 'pathname' | 'username', string>>) =>
  Object.assign(new URL(inject('databaseUrl')), parts).href
/** No resolver is asked for a label this long: a slow one would outlast the time to connect. */
const noHost = 's'.repeat(64)
const problem = async (url: string) => {
  const error = await migrate(url).catch((reason: unknown) => reason)
  return databaseError(error).message
}

test('a DATABASE_URL that leads nowhere is refused with the part of it to look at', async () => {
  expect(await problem(`postgres://parley:hunter2@${noHost}/chat`)).toMatch(
    new RegExp(
      `^The database cannot be used: getaddrinfo \\w+ ${noHost}\\. Check the host in DATABASE_URL$`,
    ),
  )
  expect(await problem('postgres://parley:hunter2@127.0.0.1:1/chat')).toMatch(
    /ECONNREFUSED 127\.0\.0\.1:1\. Check the host and port in DATABASE_URL$/,
  )
  expect(await problem(withParts({ pathname: '/nothing' }))).toBe(
    'The database cannot be used: database "nothing" does not exist. ' +
      'Check the name of the database in DATABASE_URL',
  )
  expect(await problem(withParts({ username: 'nobody' }))).toMatch(
    /\. Check the user and password in DATABASE_URL$/,
  )
})

test.each([
  'statement_timeout=nonsense',
  'TimeZone=Mars',
  'schema=public',
  'pgbouncer=true',
  'keepalives=1',
  'port=5433',
])('a wrong parameter of DATABASE_URL is known by its advice: %s', async (parameter) => {
  const url = `${inject('databaseUrl')}?${parameter}`
  expect(await problem(url)).toMatch(/\. Check the parameters after \? in DATABASE_URL$/)
})

test('an error about something else gets no advice', () => {
  expect(databaseError(new Error('Parley needs PostgreSQL 15 or newer')).message).toBe(
    'The database cannot be used: Parley needs PostgreSQL 15 or newer',
  )
})

test('an error of several lines is reported in one', () => {
  expect(databaseError(new Error('no connection:\n  refused\n')).message).toBe(
    'The database cannot be used: no connection: refused ',
  )
})

test('a server that wants TLS is not reported as a wrong password', () => {
  const refused = new Error(
    'no pg_hba.conf entry for host "192.0.2.7", user "parley", database "chat", no encryption',
  )
  const { message } = databaseError(Object.assign(refused, { code: '28000' }))
  expect(message).toMatch(/no encryption\. Check sslmode in DATABASE_URL: .* sslmode=require$/)
})

test('a server without TLS is not reported as unreachable', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.end('N')))
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await problem(`postgres://parley@127.0.0.1:${port}/chat?sslmode=require`)).toMatch(
    /\. Check sslmode in DATABASE_URL: the server may have no TLS, sslmode=disable$/,
  )
})
