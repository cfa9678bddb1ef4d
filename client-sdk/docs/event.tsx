import { addressOf } from '../console/route.ts'
import { Code, Json } from './code.tsx'
import { useDocuments } from './context.ts'
import type { EventMessage, TopicDoc } from './documents.ts'
import { InlineMarkdown, Markdown } from './markdown.tsx'
import { Fields } from './schema.tsx'

/** An event: when it comes and what it has, and beside that an example. */
export function EventPage({ topic, event }: { topic: TopicDoc; event: EventMessage }) {
  const { name, summary, description, examples } = event
  const { resolve } = useDocuments()
  const payload = resolve(event.payload)
  return (
    <article className="reference">
      <header className="reference-head">
        <p className="crumb">
          <a href={addressOf(['events', topic.id])}>{topic.title}</a>
        </p>
        <h2>{name}</h2>
        <p className="endpoint">
          <span className="method method-event">EVENT</span> <code>{topic.address}</code>
        </p>
      </header>
      <div className="reference-text">
        <Markdown text={[summary, description].filter(Boolean).join('\n\n')} />
        <section>
          <h3>Payload</h3>
          <Fields schema={payload.properties?.payload ?? payload} label="Fields of the payload" />
        </section>
      </div>
      <div className="reference-side">
        <Code text={sampleOf(name)} language="ts" label="SDK sample" />
        {examples.map((example) => (
          <section key={name}>
            <h3 className="side-title">As it arrives</h3>
            <Json value={example.payload} label="Example of the event" />
          </section>
        ))}
      </div>
    </article>
  )
}

/** Its lines are short: beside the text there is no room for more than 50 characters. */
const sampleOf = (name: string) =>
  `const stop = chat.on(
  '${name}',
  ({ payload, channelId, rev }) => {
    console.log(payload)
  },
)`

/** The events of a topic. */
export const TopicPage = ({ topic }: { topic: TopicDoc }) => (
  <article className="page">
    <h2>{topic.title}</h2>
    <p className="endpoint">
      <span className="method method-event">TOPIC</span> <code>{topic.address}</code>
    </p>
    <Markdown text={topic.description} />
    <ul className="cards">
      {topic.events.map(({ name, summary }) => (
        <li key={name}>
          <a href={addressOf(['events', topic.id, name])}>
            <strong>{name}</strong>
            <span className="muted">
              <InlineMarkdown text={summary} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  </article>
)
