import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addressFor } from '@parley/server/db/embedded/address'
import { prepareCluster } from '@parley/server/db/embedded/cluster'
import { expect, onTestFinished, test } from 'vitest'

test.skipIf(process.platform === 'win32')(
  'database files whose making was killed are not taken for complete, but removed',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-initdb-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const directory = join(folder, 'postgres')
    // As when the system is out of memory: it says nothing.
    writeFileSync(join(folder, 'initdb'), '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 })
    const account = undefined
    const address = await addressFor({ dataDir: folder, clusterDirectory: directory, account })
    const before = readdirSync(folder)
    const making = prepareCluster({
      directory,
      log: join(folder, 'postgres.log'),
      binaries: folder,
      account,
      address,
      settings: {},
    })
    await expect(making).rejects.toThrow("PostgreSQL's initdb failed: Command failed")
    expect(readdirSync(folder)).toEqual(before)
  },
)
