import { addressOf } from '../console/route.ts'
import { useDocuments } from './context.ts'
import { CredentialsButton } from './credentials.tsx'
import type { Documents } from './documents.ts'
import { guideGroups } from './guides.ts'
import { InlineMarkdown, Markdown } from './markdown.tsx'
import { Method, Path } from './operation.tsx'

/** The first page: what there is to read. */
export function Overview() {
  const { version, description, nouns, demoUserIds } = useDocuments()
  const [summary = '', ...rules] = description.split('\n\n')
  return (
    <article className="page">
      <h2>
        Parley <span className="muted">{version}</span>
      </h2>
      <Markdown text={summary} />
      <div className="callout">
        <p>
          {demoUserIds.length > 0
            ? 'Each operation can be tried out here, with the token of a demo user.'
            : 'Each operation can be tried out here, with your own credentials.'}
        </p>
        <CredentialsButton />
      </div>
      {guideGroups.map(({ title, guides }) => (
        <section key={title}>
          <h3>{title}</h3>
          <ul className="cards">
            {guides.map((guide) => (
              <li key={guide.name}>
                <a href={addressOf(['guides', guide.name])}>
                  <strong>{guide.title}</strong>
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <section>
        <h3>API</h3>
        <Markdown text={rules.join('\n\n')} />
        <ul className="cards">
          {nouns.map((noun) => (
            <li key={noun.name}>
              <a href={addressOf(['api', noun.name])}>
                <strong>{noun.name}</strong>
                <span className="muted">
                  <InlineMarkdown text={noun.description} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
      <p className="muted small">
        As documents: <a href="../openapi.json">openapi.json</a>,{' '}
        <a href="asyncapi.json">asyncapi.json</a>
      </p>
    </article>
  )
}

/** The operations of a noun. */
export const NounPage = ({ noun }: { noun: Documents['nouns'][number] }) => (
  <article className="page">
    <h2>{noun.name}</h2>
    <Markdown text={noun.description} />
    <ul className="cards">
      {noun.operations.map(({ operationId, summary, method, path }) => (
        <li key={operationId}>
          <a href={addressOf(['api', noun.name, operationId])}>
            <strong>{summary}</strong>
            <span className="endpoint-small">
              <Method method={method} /> <Path path={path} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  </article>
)
