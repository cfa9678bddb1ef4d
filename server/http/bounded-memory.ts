import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../core/metrics.ts'
import { boundArrivingBodies, type Turns } from './arriving-bodies.ts'
import { boundUnreadAnswers } from './unread-answers.ts'

type MemoryOptions = {
  /** How many bytes of arriving bodies this node may keep, and as many of unread answers. */
  mostBytes: number
  metrics: Pick<Metrics, 'arrivingBodies' | 'bodiesCut' | 'unreadAnswers' | 'answersCut'>
  turns: Turns
}

/** Bounds the memory that clients can take up by sending requests, or reading answers, slowly. */
export function boundMemory(app: FastifyInstance, options: MemoryOptions) {
  boundUnreadAnswers(app.server, options)
  boundArrivingBodies(app, options)
}
