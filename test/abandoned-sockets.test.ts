import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { query, serverOf, settings, useLauncher } from './support/embedded.ts'

const { used, dataDirectory, start, removeAfterTest } = useLauncher()

test.skipIf(process.platform === 'win32')(
  'a start removes the socket folders of killed servers, and of no others',
  async () => {
    const first = await start(used)
    const beside = (name: string, lock?: string) => {
      const folder = join(dirname(first.host), `socket-${process.pid}-${name}`)
      mkdirSync(folder)
      removeAfterTest(folder)
      if (lock !== undefined) writeFileSync(join(folder, '.s.PGSQL.5432.lock'), lock)
      return folder
    }
    // Locks of a process that is no server any more, and of the server of another folder.
    const killed = beside('killed', `${process.pid}\n/gone/postgres\n`)
    const reused = beside('reused', `${serverOf(used)}\n/gone/postgres\n`)
    const starting = beside('starting')
    const other = await start(dataDirectory(), settings)
    expect([killed, reused, starting].map((folder) => existsSync(folder))).toEqual([
      false,
      false,
      true,
    ])
    for (const database of [first, other])
      expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
  },
)
