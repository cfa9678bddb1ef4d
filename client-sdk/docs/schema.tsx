import { useState } from 'react'
import { useDocuments } from './context.ts'
import { type Documents, nameOf, type Schema } from './documents.ts'
import { InlineMarkdown } from './markdown.tsx'

/** The fields of an object, with those inside them behind a button. */
export function Fields({ schema, label }: { schema: Schema; label: string }) {
  const { resolve } = useDocuments()
  const object = objectIn(schema, resolve)
  if (!object?.properties) return <p className="muted">{typeOf(schema, resolve)}</p>
  const { properties, required = [] } = object
  return (
    <ul className="fields" aria-label={label}>
      {Object.entries(properties).map(([name, field]) => (
        <Field key={name} name={name} schema={field} isRequired={required.includes(name)} />
      ))}
    </ul>
  )
}

type FieldProps = { name: string; schema: Schema; isRequired: boolean }

export function Field({ name, schema, isRequired }: FieldProps) {
  const { resolve } = useDocuments()
  const [isOpen, setOpen] = useState(false)
  const inner = objectIn(schema, resolve)
  const description = schema.description ?? resolve(schema).description
  const limits = limitsOf(schema)
  return (
    <li className="field-row">
      <p className="field-head">
        <code>{name}</code>
        <span className="field-type">{typeOf(schema, resolve)}</span>
        {isRequired && <span className="field-required">required</span>}
      </p>
      {description && (
        <p>
          <InlineMarkdown text={description} />
        </p>
      )}
      {limits && <p className="field-limits">{limits}</p>}
      {inner?.properties && (
        <>
          <button
            type="button"
            className="button button-small button-quiet"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide' : 'Show'} the fields of {name}
          </button>
          {isOpen && <Fields schema={inner} label={`Fields of ${name}`} />}
        </>
      )}
    </li>
  )
}

type Resolve = Documents['resolve']

/** The object that a schema is, or a list of, or that it may be. */
function objectIn(schema: Schema, resolve: Resolve): Schema | undefined {
  const found = resolve(schema)
  if (found.properties) return found
  if (found.items) return objectIn(found.items, resolve)
  for (const part of found.anyOf ?? []) {
    const inner = objectIn(part, resolve)
    if (inner) return inner
  }
  return typeof found.additionalProperties === 'object'
    ? objectIn(found.additionalProperties, resolve)
    : undefined
}

const MOST_NAMED_VALUES = 8

function typeOf(schema: Schema, resolve: Resolve): string {
  const name = nameOf(schema)
  if (name) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum && schema.enum.length <= MOST_NAMED_VALUES)
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map((part) => typeOf(part, resolve)).join(' | ')
  if (schema.items) return `list of ${typeOf(schema.items, resolve)}`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.format ? `${type} (${schema.format})` : type
}

/** Says in words what a value may be. */
function limitsOf(schema: Schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  const parts = [
    rangeOf({ least: minimum, most: maximum, unit: '' }),
    rangeOf({ least: minLength || undefined, most: maxLength, unit: ' characters' }),
    rangeOf({ least: minItems || undefined, most: maxItems, unit: ' entries' }),
    schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`,
  ]
  return parts.filter((part) => part !== undefined).join(' · ')
}

type Range = { least: number | undefined; most: number | undefined; unit: string }

/** The greatest safe integer is no limit worth mentioning. */
function rangeOf({ least, most, unit }: Range) {
  const greatest = most === Number.MAX_SAFE_INTEGER ? undefined : most
  const [from, to] = [least, greatest].map((value) => value?.toLocaleString('en'))
  if (from !== undefined && to !== undefined) return `${from} to ${to}${unit}`
  if (to !== undefined) return `at most ${to}${unit}`
  return from === undefined ? undefined : `at least ${from}${unit}`
}
