type Level = 'error' | 'warn' | 'info' | 'debug'

/** The log of this process, with the levels that a part of it writes: Fastify's, or one like it. */
export type Log<Levels extends Level = Level> = Record<
  Levels,
  (facts: object, message: string) => void
>
