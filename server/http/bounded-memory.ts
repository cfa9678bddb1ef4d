import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../core/metrics.ts'
import { boundArrivingBodies } from './arriving-bodies.ts'
import { boundUnreadAnswers } from './unread-answers.ts'

type MemoryOptions = {
  /** How many bytes this node may keep of bodies that arrive, and as many of unread answers. */
  mostBytes: number
  metrics: Pick<Metrics, 'arrivingBodies' | 'bodiesCut' | 'unreadAnswers' | 'answersCut'>
}

/** Bounds what clients keep in memory that send their requests, or read their answers, slowly. */
export function boundMemory(app: FastifyInstance, options: MemoryOptions) {
  boundUnreadAnswers(app.server, options)
  boundArrivingBodies(app, options)
}
