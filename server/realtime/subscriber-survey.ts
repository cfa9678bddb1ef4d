import { randomUUID } from 'node:crypto'
import type { Broker, SurveyedNote, SurveyNote } from './broker/index.ts'
import type { Hub } from './hub.ts'

/** A subscription as presence shows it. */
export type Client = { user: string; client: string }

/** How long other nodes may take to answer, and how long an answer is shared. */
const PATIENCE_MS = 1_000
/** The most subscriptions of one node, and of all together, that are listed. */
const MOST_CLIENTS = 1_000
/** The most topics whose answers are kept: beyond that the oldest are asked for again. */
const MOST_KEPT = 1_000

type SurveyOptions = {
  nodeId: string
  hub: Pick<Hub, 'topics'>
  broker: Pick<Broker, 'send'>
  /** How many other nodes are alive. */
  countOthers: () => Promise<number>
}
/** `nodes`: those that have answered, since a note may arrive twice. */
type Answers = { clients: Client[]; nodes: Set<string>; missing: number; end: () => void }

/**
 * Lists the subscriptions of a topic on all nodes. Each node knows its own, so it is asked. A node
 * that does not answer in time is left out.
 */
export class SubscriberSurvey {
  readonly #asked = new Map<string, Answers>()
  readonly #kept = new Map<string, Promise<Client[]>>()

  constructor(readonly options: SurveyOptions) {}

  /** At most one survey of a topic runs in a second, however many clients want it. */
  clientsOf(topic: string): Promise<Client[]> {
    const known = this.#kept.get(topic)
    if (known) return known
    const survey = this.#survey(topic)
    this.#kept.set(topic, survey)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    const forget = () => {
      if (this.#kept.get(topic) === survey) this.#kept.delete(topic)
    }
    survey.then(() => setTimeout(forget, PATIENCE_MS).unref(), forget)
    return survey
  }

  /** Answers the survey of another node. */
  handleSurvey({ id, from, topic }: SurveyNote) {
    const clients = this.#ownClients(topic)
    const { nodeId, broker } = this.options
    broker.send({ kind: 'surveyed', id, node: from, from: nodeId, clients })
  }

  /** Takes the answer of another node. */
  handleSurveyed({ id, from, clients }: SurveyedNote) {
    const answers = this.#asked.get(id)
    if (!answers || (from !== undefined && answers.nodes.has(from))) return
    if (from !== undefined) answers.nodes.add(from)
    answers.clients.push(...clients)
    answers.missing -= 1
    if (answers.missing <= 0) answers.end()
  }

  #ownClients(topic: string): Client[] {
    const subscriptions = [...(this.options.hub.topics.get(topic)?.subscriptions ?? [])]
    return subscriptions
      .filter(({ isGranted }) => isGranted)
      .slice(0, MOST_CLIENTS)
      .map(({ subscriber: { id, userId } }) => ({ user: userId, client: id }))
  }

  async #survey(topic: string) {
    const { nodeId, broker, countOthers } = this.options
    const missing = await countOthers()
    if (missing === 0) return this.#ownClients(topic)
    const id = randomUUID()
    const answers: Answers = { clients: [], nodes: new Set(), missing, end: () => {} }
    const answered = new Promise<void>((resolve) => {
      answers.end = resolve
    })
    this.#asked.set(id, answers)
    const timer = setTimeout(answers.end, PATIENCE_MS)
    broker.send({ kind: 'survey', id, from: nodeId, topic })
    await answered
    clearTimeout(timer)
    this.#asked.delete(id)
    return [...this.#ownClients(topic), ...answers.clients].slice(0, MOST_CLIENTS)
  }
}
