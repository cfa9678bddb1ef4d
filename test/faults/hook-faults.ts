import { setTimeout as delay } from 'node:timers/promises'
import type { Rig } from './rig.ts'

/** Harm to the receiver of the app's webhook, or to the worker that sends to it. */

const harmless = { node: undefined, breaksAnswers: false }
/** Longer than a worker waits for an answer. */
const LATE_MS = 11_000

export const killReceiver = ({ fault, receiver, random }: Rig) =>
  fault({ ...harmless, name: 'receiver killed' }, async () => {
    await receiver.kill()
    await delay(random.between(200, 3_000))
    await receiver.revive()
  })

export const failReceiver = ({ fault, receiver, random }: Rig) =>
  fault({ ...harmless, name: 'receiver fails' }, async () => {
    receiver.answerWith((response) => response.writeHead(500).end())
    await delay(random.between(200, 3_000))
    receiver.answerWith()
  })

/** The receiver answers only after the timeout, so those deliveries are repeated. */
export const delayReceiver = ({ fault, receiver }: Rig) =>
  fault({ ...harmless, name: 'receiver late' }, async () => {
    receiver.answerWith((response) => {
      setTimeout(() => response.writeHead(204).end(), LATE_MS)
    })
    await delay(LATE_MS)
    receiver.answerWith()
  })

/** A worker dies that waits for the answer to a delivery. */
export const killWorkerAtDelivery = ({ fault, receiver, worker }: Rig) =>
  fault({ ...harmless, name: 'worker kill -9 at a delivery' }, async () => {
    await new Promise<void>((resolve) => receiver.answerWith(() => resolve()))
    await worker.process.end('SIGKILL')
    receiver.answerWith()
    await worker.process.start()
  })
