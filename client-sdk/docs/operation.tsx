import { Fragment, useState } from 'react'
import { addressOf } from '../console/route.ts'
import { Code, Json } from './code.tsx'
import { useDocuments } from './context.ts'
import {
  type Answer,
  acceptedBy,
  exampleOf,
  nameOf,
  type Operation,
  type Parameter,
  type Schema,
} from './documents.ts'
import { InlineMarkdown, Markdown } from './markdown.tsx'
import { samplesOf } from './samples.ts'
import { Field, Fields } from './schema.tsx'
import { TryIt } from './try-it.tsx'

/** An operation: what it does and takes and answers, and beside that how to call it. */
export function OperationPage({ operation }: { operation: Operation }) {
  const { operationId, method, path, summary, description, tags } = operation
  const [noun = ''] = tags
  return (
    <article className="reference">
      <header className="reference-head">
        <p className="crumb">
          <a href={addressOf(['api', noun])}>{noun}</a>
        </p>
        <h2>{summary}</h2>
        <p className="endpoint">
          <Method method={method} /> <Path path={path} />
        </p>
        <Callers operation={operation} />
      </header>
      <div className="reference-text">
        {description && <Markdown text={description} />}
        <Parameters operation={operation} part="path" title="In the path" />
        <Parameters operation={operation} part="query" title="In the query" />
        <Body operation={operation} />
        <Answers answers={operation.responses} />
      </div>
      <div className="reference-side">
        <Samples key={operationId} operation={operation} />
        <ExampleAnswer operation={operation} />
        <TryIt key={`${operationId} try`} operation={operation} />
      </div>
    </article>
  )
}

/** A path, which breaks between its parts. */
export const Path = ({ path }: { path: string }) => (
  <code>
    {[...path.matchAll(/\/[^/]*/g)].map(({ 0: part, index }) => (
      <Fragment key={index}>
        {part}
        <wbr />
      </Fragment>
    ))}
  </code>
)

export const Method = ({ method }: { method: string }) => (
  <span className={`method method-${method.toLowerCase()}`}>{method}</span>
)

const callers = {
  user: 'User token',
  backend: 'API key',
  actingBackend: 'API key, as a user',
  operator: 'Admin key',
}

/** The kinds of credentials that suffice. */
function Callers({ operation }: { operation: Operation }) {
  const accepted = acceptedBy(operation)
  const names = Object.entries(callers).flatMap(([kind, name]) =>
    accepted[kind as keyof typeof accepted] ? [name] : [],
  )
  return (
    <ul className="callers" aria-label="Accepted credentials">
      {names.map((name) => (
        <li key={name} className="tag">
          {name}
        </li>
      ))}
      {names.length === 0 && <li className="tag">No credentials needed</li>}
    </ul>
  )
}

type ParametersProps = { operation: Operation; part: Parameter['in']; title: string }

function Parameters({ operation, part, title }: ParametersProps) {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === part)
  if (parameters.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <ul className="fields">
        {parameters.map(({ name, description, required = false, schema }) => (
          <Field
            key={name}
            name={name}
            schema={description === undefined ? schema : { ...schema, description }}
            isRequired={required}
          />
        ))}
      </ul>
    </section>
  )
}

function Body({ operation: { requestBody } }: { operation: Operation }) {
  const [media] = Object.entries(requestBody?.content ?? {})
  if (!media) return null
  const [contentType, { schema }] = media
  return (
    <section>
      <h3>
        Body <span className="muted">{contentType}</span>
      </h3>
      {schema.contentSchema?.items ? (
        <Lines line={schema.contentSchema.items} />
      ) : (
        <Fields schema={schema} label="Fields of the body" />
      )}
    </section>
  )
}

/** The kinds of lines that the body may have. */
function Lines({ line }: { line: Schema }) {
  const { resolve } = useDocuments()
  return (
    <>
      {line.oneOf?.map((kind) => (
        <section key={kind.$ref}>
          <h4>{resolve(kind).description}</h4>
          <Fields schema={kind} label={`Fields of ${nameOf(kind)}`} />
        </section>
      ))}
    </>
  )
}

/** The answers: the fields of those that succeed, and the reasons for the others. */
function Answers({ answers }: { answers: Record<string, Answer> }) {
  const { resolve } = useDocuments()
  const resolved = Object.entries(answers).map(([status, answer]) => [status, resolve(answer)])
  return (
    <section>
      <h3>Answers</h3>
      {(resolved as [string, Answer][]).map(([status, { description = '', content }]) => (
        <div key={status} className="answer">
          <p className="answer-head">
            <span className={Number(status) < 400 ? 'status status-good' : 'status status-bad'}>
              {status}
            </span>
            <span>
              <InlineMarkdown text={description} />
            </span>
          </p>
          {Number(status) < 400 &&
            Object.values(content ?? {}).map(({ schema }) => (
              <Fields key={status} schema={schema} label={`Fields of the answer ${status}`} />
            ))}
        </div>
      ))}
    </section>
  )
}

/** How to call it, in each of the ways. */
function Samples({ operation }: { operation: Operation }) {
  const samples = samplesOf(operation)
  const [shown, setShown] = useState(samples[0]?.title)
  const sample = samples.find(({ title }) => title === shown)
  return (
    <section className="samples">
      <fieldset className="sample-tabs">
        <legend className="sr-only">Sample</legend>
        {samples.map(({ title }) => (
          <button
            key={title}
            type="button"
            aria-pressed={title === shown}
            onClick={() => setShown(title)}
          >
            {title}
          </button>
        ))}
      </fieldset>
      {sample && <Code {...sample} label={`${sample.title} sample`} />}
    </section>
  )
}

function ExampleAnswer({ operation: { responses } }: { operation: Operation }) {
  const { resolve } = useDocuments()
  const [status, answer] = Object.entries(responses)[0] ?? []
  const example = answer && exampleOf(resolve(answer).content)
  if (example === undefined) return null
  return (
    <section>
      <h3 className="side-title">Answer {status}</h3>
      <Json value={example} label={`Example of the answer ${status}`} />
    </section>
  )
}
