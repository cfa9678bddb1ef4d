import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  canRead,
  checkout,
  isRoot,
  platformPackage,
  query,
  tsx,
  useLauncher,
} from '../support/embedded.ts'

const { used, directory, dataDirectory, start, program, removeAfterTest } = useLauncher()

test('the database is unreachable from the network and for other users of the machine', async ({
  skip,
}) => {
  const database = await start(used)
  expect(await query(database, `select current_setting('listen_addresses') as addresses`)).toEqual([
    { addresses: '' },
  ])
  const modeOf = (path: string) => statSync(path).mode & 0o777
  expect([database.host, `${database.host}/.s.PGSQL.5432`].map(modeOf)).toEqual([0o700, 0o700])
  skip(!isRoot, 'only root can try as another user')
  const attempt = `
    require('net')
      .connect('${database.host}/.s.PGSQL.5432', process.exit)
      .on('error', ({ code }) => console.log(code))`
  expect(
    execFileSync(process.execPath, ['-e', attempt], {
      uid: 64_321,
      gid: 64_321,
      cwd: '/',
      encoding: 'utf8',
    }),
  ).toBe('EACCES\n')
})

test('a checkout that only its owner can enter works, with its own database', async () => {
  const began = Date.now()
  const closed = join(directory(), 'closed')
  const code = checkout(join(closed, 'code'))
  chmodSync(closed, 0o700)
  const dataDirs = ['first', 'second'].map((name) => join(closed, name, '.data'))
  const owners = await Promise.all(dataDirs.map((dataDir) => program(dataDir, { code })))
  const databases = await Promise.all(owners.map((owner) => owner.start()))
  expect(new Set(databases.map(({ dataDir }) => dataDir)).size).toBe(2)
  for (const database of databases) {
    await query(database, 'create table one_each (one int)')
    const { dataDir, notices } = database
    // Root's server runs as another user, who cannot get in there.
    if (!isRoot) expect(dataDirs).toContain(dataDir)
    if (isRoot) expect(notices.join()).toContain(`Database files: ${dataDir} (`)
    if (isRoot) removeAfterTest(dataDir, ...copiesSince(began, dirname(dataDir)))
  }
})

test('missing library links are made, also by two starts at once', async () => {
  const code = checkout(join(directory(), 'code'))
  const links = libraryLinks(code)
  for (const link of links) rmSync(link)
  const owners = await Promise.all([program(used, { code }), program(dataDirectory(), { code })])
  await Promise.all(owners.map((owner) => owner.start()))
  for (const link of links) expect(lstatSync(link).isSymbolicLink()).toBe(true)
})

test('without binaries for the platform the error says to set DATABASE_URL', async () => {
  const code = checkout(join(directory(), 'code'), { hasBinaries: false })
  await expect((await program(dataDirectory(), { code })).start()).rejects.toThrow(
    /^No embedded PostgreSQL for .*: set DATABASE_URL/,
  )
})

test('a user other than root runs the server as that user', async ({ skip }) => {
  skip(!isRoot, 'the other tests do just that')
  const user = { uid: 65_534, gid: 65_534 }
  skip(!canRead(user, process.execPath, tsx), 'Node.js is out of reach of other users')
  const code = checkout(join(directory(), 'code'))
  const dataDir = directory()
  chownSync(dataDir, user.uid, user.gid)
  const owner = await program(dataDir, { code, user })
  const database = await owner.start()
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(statSync(join(dataDir, 'postgres')).uid).toBe(user.uid)
})

const libraryLinks = (code: string) => {
  const links: { target: string }[] = JSON.parse(
    readFileSync(join(code, platformPackage, 'native/pg-symlinks.json'), 'utf8'),
  )
  return links.map(({ target }) => join(code, platformPackage, target))
}

const copiesSince = (time: number, directory: string) =>
  readdirSync(directory)
    .map((entry) => join(directory, entry))
    .filter((path) => path.includes('/postgres-') && statSync(path).ctimeMs >= time)
