import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransportName } from '@parley/server/realtime/sockets/transport'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/ports.ts'
import { hasProgram } from '../support/proxy-program.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
const isInstalled = hasProgram('nginx', ['-v'])
if (!isInstalled) console.log('SKIPPED: nginx is not installed, so nothing is buffered')

/** An nginx that buffers and compresses answers, and does not pass upgrades. */
async function startNginx() {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'parley-nginx-'))
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  )
  writeFileSync(
    file,
    `daemon off; master_process off; error_log stderr crit; pid ${join(folder, 'pid')};
    events {}
    http {
      access_log off; gzip on; gzip_types *;
      ${temporary.join(' ')}
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass ${world().url}; proxy_http_version 1.1; proxy_buffering on; }
      }
    }`,
  )
  const nginx = spawn('nginx', ['-c', file, '-p', folder], { stdio: 'inherit' })
  onTestFinished(() => {
    nginx.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  const url = `http://127.0.0.1:${port}`
  await until(() =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  )
  return { url }
}

test.skipIf(!isInstalled)('events pass a proxy that buffers, without any setting', async () => {
  const [ana] = await world().users('ana', 'ben')
  const proxy = await startNginx()
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const transports: TransportName[] = ['websocket', 'http_stream', 'sse']
  for (const from of [0, 2]) {
    const client = centrifugeOf(proxy, ana, 'json', { transports: transports.slice(from) })
    onTestFinished(() => client.disconnect())
    const listener = await listen(client, `chat:${world().appId}:${channelId}`)
    await ana.messages.send({ channelId, text: 'hello' })
    await listener.untilType('message.new')
    expect(listener.received).toHaveLength(1)
  }
})
