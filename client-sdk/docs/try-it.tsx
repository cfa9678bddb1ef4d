import { type FormEvent, useState } from 'react'
import { Code } from './code.tsx'
import { CredentialsButton, headersFor, useCredentials } from './credentials.tsx'
import type { Operation, Parameter } from './documents.ts'
import { serverUrl } from './documents.ts'
import { exampleBodyOf, fillIn } from './samples.ts'

type Outcome = { status: number; text: string; durationMs: number } | { problem: string }

/** A form that calls an operation of this server, and shows what it answers. */
export function TryIt({ operation }: { operation: Operation }) {
  const { credentials } = useCredentials()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isBusy, setBusy] = useState(false)
  const { parameters = [], requestBody } = operation
  const headers = headersFor(operation, credentials)
  const lacksCredentials = operation.security.length > 0 && Object.keys(headers).length === 0
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setBusy(true)
    const given = new FormData(event.currentTarget)
    setOutcome(await outcomeOf(operation, { given, headers }))
    setBusy(false)
  }
  return (
    <form className="try" onSubmit={send} aria-label={`Try ${operation.operationId}`}>
      <div className="try-head">
        <h3>Try it</h3>
        <CredentialsButton />
      </div>
      {parameters.map((parameter) => (
        <ParameterInput key={parameter.name} parameter={parameter} />
      ))}
      {requestBody && <BodyInput operation={operation} />}
      {lacksCredentials && (
        <p className="muted small">This call needs other credentials than you have chosen.</p>
      )}
      <button type="submit" className="button" disabled={isBusy}>
        Send
      </button>
      <div role="status">{outcome && <OutcomeView outcome={outcome} />}</div>
    </form>
  )
}

const ParameterInput = ({ parameter: { name, required, schema } }: { parameter: Parameter }) => (
  <label className="field">
    <span className="field-name">
      {name} {!required && <span className="muted">optional</span>}
    </span>
    <input
      className="input"
      name={`parameter ${name}`}
      required={required}
      placeholder={String(schema.examples?.[0] ?? '')}
      autoComplete="off"
      spellCheck={false}
    />
  </label>
)

const MOST_ROWS = 12

function BodyInput({ operation }: { operation: Operation }) {
  const example = exampleBodyOf(operation)
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return (
    <label className="field">
      <span className="field-name">Body</span>
      <textarea
        className="input mono"
        name="body"
        rows={Math.min(MOST_ROWS, text.split('\n').length + 1)}
        defaultValue={text}
        spellCheck={false}
      />
    </label>
  )
}

type Call = { given: FormData; headers: Record<string, string> }

async function outcomeOf(operation: Operation, { given, headers }: Call): Promise<Outcome> {
  const values = (operation.parameters ?? []).flatMap(({ name, in: part }) => {
    const value = String(given.get(`parameter ${name}`) ?? '')
    return value === '' ? [] : [{ name, in: part, value }]
  })
  const [contentType] = Object.keys(operation.requestBody?.content ?? {})
  const start = performance.now()
  try {
    const response = await fetch(serverUrl + fillIn(operation.path, values), {
      method: operation.method,
      headers: { ...headers, ...(contentType ? { 'content-type': contentType } : {}) },
      ...(contentType ? { body: String(given.get('body') ?? '') } : {}),
    })
    const text = indented(await response.text())
    return { status: response.status, text, durationMs: performance.now() - start }
  } catch (error) {
    return { problem: `The server cannot be reached: ${error}` }
  }
}

/** JSON with a line for each field, and any other text as it is. */
function indented(text: string) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function OutcomeView({ outcome }: { outcome: Outcome }) {
  if ('problem' in outcome)
    return (
      <p className="refusal" role="alert">
        {outcome.problem}
      </p>
    )
  return (
    <>
      <p className="try-status">
        <span className={outcome.status < 400 ? 'status status-good' : 'status status-bad'}>
          {outcome.status}
        </span>
        <span className="muted">{Math.round(outcome.durationMs)} ms</span>
      </p>
      <Code text={outcome.text} language="json" label="Answer" />
    </>
  )
}
