import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockDirectory } from '@parley/server/db/embedded/lock'
import { startTimeOf } from '@parley/server/db/embedded/process'
import { expect, onTestFinished, test } from 'vitest'
import { until } from './support/until.ts'

function openDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'parley-lock-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return { directory, lock: join(directory, 'parley.lock') }
}

/** The lock file's text for a process that has died. */
const ofDead = () => `${spawnSync(process.execPath, ['--version']).pid} 1\n`
const ofThis = () => `${process.pid} ${startTimeOf(process.pid)}\n`
const inUse = `in use by process ${process.pid}`

test('a data directory belongs to one process, until that releases it', () => {
  const { directory, lock } = openDirectory()
  const listeners = process.listenerCount('exit')
  const release = lockDirectory(directory)
  expect(readFileSync(lock, 'utf8')).toBe(ofThis())
  expect(() => lockDirectory(directory)).toThrow(inUse)
  release()
  lockDirectory(directory)()
  expect(readdirSync(directory)).toEqual([])
  // No listener is left for the exit, when another process may have the lock.
  expect(process.listenerCount('exit')).toBe(listeners)
})

test('the lock of a process that has died is taken over, by one process alone', () => {
  const { directory, lock } = openDirectory()
  writeFileSync(lock, ofDead())
  // Another process is about to remove it.
  writeFileSync(`${lock}.takeover`, ofThis())
  expect(() => lockDirectory(directory)).toThrow(inUse)
  // That process has died, too.
  writeFileSync(`${lock}.takeover`, ofDead())
  const release = lockDirectory(directory)
  expect(readFileSync(lock, 'utf8')).toBe(ofThis())
  release()
  expect(readdirSync(directory)).toEqual([])
})

test.skipIf(startTimeOf(process.pid) === '')(
  'a lock is taken over if another process has the pid of its owner',
  () => {
    const { directory, lock } = openDirectory()
    writeFileSync(lock, `${process.pid} earlier\n`)
    const release = lockDirectory(directory)
    expect(readFileSync(lock, 'utf8')).toBe(ofThis())
    release()
  },
)

test.skipIf(process.platform !== 'linux')(
  'the lock of a process that has ended is taken over, even while it is a zombie',
  async () => {
    const { directory, lock } = openDirectory()
    // The parent never asks for the end of its child.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'])
    onTestFinished(() => void parent.kill())
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(line)
    await until(() => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
    writeFileSync(lock, `${pid} ${startTimeOf(pid)}\n`)
    lockDirectory(directory)()
    expect(readdirSync(directory)).toEqual([])
  },
)
