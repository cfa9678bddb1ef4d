import type { FastifyInstance } from 'fastify'

/**
 * How many connections may wait to be accepted: the most that Linux lets wait, unless its
 * `net.core.somaxconn` is another. Each turn of the event loop accepts one. When the default of 511
 * wait, the system drops further ones, and their clients try again after 1, 3 and 7 seconds.
 */
const BACKLOG = 4_096

export type ListenAddress = { port: number; host: string }

/** Returns the URL that the server listens at. */
export const listen = (app: FastifyInstance, address: ListenAddress) =>
  app.listen({ ...address, backlog: BACKLOG })
