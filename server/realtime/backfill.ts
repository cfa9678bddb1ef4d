import type { Metrics } from '../core/metrics.ts'
import type { EventLog } from './event-log.ts'
import type { Topic } from './topic/index.ts'

const TOPICS_PER_READ = 500

/** Why a gap is read: see `parley_gaps_filled_total`. */
const REASONS = ['hint', 'reorder', 'subscribe', 'missed'] as const
export type GapReason = (typeof REASONS)[number]

type BackfillOptions = {
  log: Pick<EventLog, 'readAfter'>
  metrics: Pick<Metrics, 'gapsFilled'>
  report: (error: unknown, problem: string) => void
  topicOf: (name: string) => Topic | undefined
  /** Called when the log no longer holds the publications that a topic misses. */
  onUnrecoverable: (topic: Topic) => void
}

/** Fills the gaps of topics from the log: one statement for all topics that have one. */
export class Backfill {
  readonly #pending = new Map<Topic, GapReason>()
  #isRunning = false

  constructor(readonly options: BackfillOptions) {
    // From 0: a counter that first appears with a burst shows no increase.
    for (const reason of REASONS) options.metrics.gapsFilled.inc({ reason }, 0)
  }

  fillGap(topic: Topic, reason: GapReason) {
    this.#pending.set(topic, this.#pending.get(topic) ?? reason)
    if (this.#isRunning) return
    this.#isRunning = true
    setImmediate(() => void this.#run())
  }

  async #run() {
    try {
      while (this.#pending.size > 0) await this.#fillSome()
    } catch (error) {
      // The next reconciliation tries again.
      this.#pending.clear()
      this.options.report(error, 'gap read failed')
    } finally {
      this.#isRunning = false
    }
  }

  async #fillSome() {
    const { log, metrics, topicOf, onUnrecoverable } = this.options
    const reasons = new Map([...this.#pending].slice(0, TOPICS_PER_READ))
    const topics = [...reasons.keys()]
    for (const topic of topics) this.#pending.delete(topic)
    const before = new Map(topics.map((topic) => [topic.name, topic.deliveredOffset ?? 0]))
    const isMissed = (topic: Topic) => reasons.get(topic) === 'missed' && topic.hasGap
    const missed = new Set(topics.filter(isMissed))
    const { publications, isCut } = await log.readAfter([...before])
    const readAt = performance.now()
    const firstOffsets = new Map<string, number>()
    for (const { topic: name, ageSeconds, ...publication } of publications) {
      if (!firstOffsets.has(name)) firstOffsets.set(name, publication.offset)
      const topic = topicOf(name)
      if (!topic) continue
      metrics.gapsFilled.inc({ reason: reasons.get(topic) ?? 'missed' })
      const at = readAt - ageSeconds * 1_000
      topic.accept({ ...publication, committed: { at, origin: 'other' } })
    }
    for (const topic of topics) {
      const first = firstOffsets.get(topic.name)
      const isStillMissing = first !== undefined && first > (topic.deliveredOffset ?? 0) + 1
      // The database knew the offset before this read, so a missing row was left out or has
      // expired, unless the read ended before it. A gap that appeared during the read is another.
      const isLeftOut = first === undefined && missed.has(topic) && topic.hasGap
      const isCurrent = topicOf(topic.name) === topic
      const mayProgress = (isCut && isCurrent) || topic.deliveredOffset !== before.get(topic.name)
      if (isStillMissing || (isLeftOut && !isCut && isCurrent)) onUnrecoverable(topic)
      else if (topic.hasGap && mayProgress) this.#pending.set(topic, reasons.get(topic) ?? 'missed')
    }
  }
}
