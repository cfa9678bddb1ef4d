import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()
const CONNECTIONS = 1_000
/** What the system allows, whatever a server asks for. */
const somaxconn = () => Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
const isPossible = process.platform === 'linux' && somaxconn() > CONNECTIONS

/** Opens connections to a port, and prints how many of them were open together. */
const client = `
  const { connect } = require('node:net')
  const most = ${CONNECTIONS}
  let open = 0
  const end = () => {
    process.stdout.write(String(open))
    process.exit()
  }
  for (let count = 0; count < most; count++)
    connect(Number(process.argv[1]), process.argv[2]).on('connect', () => {
      open += 1
      if (open === most) end()
    })
  setTimeout(end, 20_000)`

test.runIf(isPossible)(
  'a crowd that connects at once while the server is busy is not dropped',
  () => {
    const { hostname, port } = new URL(world().url)
    // The server is in this process, which is busy until the client has ended.
    const { stdout } = spawnSync(process.execPath, ['-e', client, port, hostname])
    expect(String(stdout)).toBe(String(CONNECTIONS))
  },
)
