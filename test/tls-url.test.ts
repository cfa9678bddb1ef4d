import { readTls } from '@parley/server/db/tls'
import { expect, test } from 'vitest'
import { certificates } from './support/certificates/index.ts'

const ca = certificates.path('ca.crt')
const base = 'postgres://parley:secret@db.example.com:5432/chat'
const sslOf = (parameters: string) => readTls(`${base}?${parameters.replace('CA', ca)}`).ssl
/** Tells how much is verified: the chain of certificates, the name of the host. */
const verified = (parameters: string) => {
  const ssl = sslOf(parameters)
  if (ssl === false) return 'plain text'
  if (!ssl.rejectUnauthorized) return 'nothing'
  return ssl.checkServerIdentity ? 'chain' : 'chain and name'
}

test.each([
  ['', 'plain text'],
  ['sslmode=disable', 'plain text'],
  ['ssl=false', 'plain text'],
  ['sslmode=require', 'nothing'],
  ['sslmode=require&uselibpqcompat=true', 'nothing'],
  ['sslmode=no-verify', 'nothing'],
  ['sslmode=no-verify&sslrootcert=CA', 'nothing'],
  ['ssl=no-verify', 'nothing'],
  ['sslmode=require&sslrootcert=CA', 'chain'],
  ['sslmode=verify-ca', 'chain'],
  ['sslmode=verify-full', 'chain and name'],
  ['sslmode=verify-full&sslrootcert=CA', 'chain and name'],
  ['sslrootcert=system', 'chain and name'],
  ['sslmode=require&sslrootcert=system', 'chain and name'],
  ['sslrootcert=CA', 'chain and name'],
  ['ssl=true', 'chain and name'],
  ['ssl=1', 'chain and name'],
  ['ssl=0', 'plain text'],
])('a database URL with "%s" verifies: %s', (parameters, expected) => {
  expect(verified(parameters)).toBe(expected)
})

test('a private CA is trusted alone, and a client certificate is sent with its key', () => {
  const key = certificates.path('server.key')
  const ssl = sslOf(`sslmode=verify-full&sslrootcert=CA&sslcert=${ca}&sslkey=${key}`)
  expect(ssl).toMatchObject({
    ca: expect.stringContaining('BEGIN CERTIFICATE'),
    cert: expect.stringContaining('BEGIN CERTIFICATE'),
    key: expect.stringContaining('PRIVATE KEY'),
    host: 'db.example.com',
  })
})

test('a file that is no certificate, or no key, is refused by the name of its setting', () => {
  const key = certificates.path('server.key')
  for (const [parameters, problem] of [
    [`sslrootcert=${key}`, `sslrootcert in DATABASE_URL: ${key} has no certificate`],
    [`sslmode=require&sslcert=${key}`, `sslcert in DATABASE_URL: ${key} has no certificate`],
    [`sslmode=require&sslkey=${ca}`, `sslkey in DATABASE_URL: ${ca} has no private key`],
  ] as const)
    expect(() => sslOf(parameters)).toThrow(problem)
})

test('a certificate is compared with an IPv6 address as it is written there', () => {
  const { ssl } = readTls('postgres://parley@[2001:db8::1]/chat?sslmode=verify-full')
  expect(ssl).toMatchObject({ host: '2001:db8::1' })
})

test('only the parameters for encryption are taken out of the URL', () => {
  const encryption =
    'sslmode=require&channel_binding=require&gssencmode=disable&uselibpqcompat=true'
  const given = `${encryption}&target_session_attrs=read-write`
  const { url } = readTls(`${base}?${given}`)
  expect(url).toBe(`${base}?target_session_attrs=read-write`)
  expect(readTls('postgres://parley@%2Frun%2Fpostgresql/parley')).toEqual({
    url: 'postgres://parley@%2Frun%2Fpostgresql/parley',
    ssl: false,
  })
})

test('a mode that could fall back to plain text, and a CA that is not there, are refused', () => {
  for (const mode of ['prefer', 'allow', 'REQUIRE', 'yes'])
    expect(() => sslOf(`sslmode=${mode}`)).toThrow(
      /^sslmode in DATABASE_URL: expected one of disable, require, /,
    )
  expect(() => sslOf('sslmode=verify-full&sslrootcert=/no/ca.crt')).toThrow(
    'sslrootcert in DATABASE_URL: /no/ca.crt cannot be read (ENOENT)',
  )
})
