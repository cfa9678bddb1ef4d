import type { Operation } from '@parley/contract'
import { isRecord } from '../../core/json-text.ts'

type Json = Record<string, unknown>
/** Schemas by name: what `components/schemas` holds. */
export type NamedSchemas = Record<string, unknown>

/**
 * Moves a schema into `schemas` under a name, and returns the reference to it. Objects and lists of
 * values inside get names too, of the name and the path to them, so that a generator need not
 * invent any. A schema without parts stays where it is.
 */
export function named(
  schema: unknown,
  name: string,
  schemas: NamedSchemas,
  description = name,
): unknown {
  if (!isRecord(schema) || '$ref' in schema) return schema
  const whole = withNamedParts(schema, name, schemas)
  if (!isRecord(schema.properties) && !Array.isArray(schema.enum)) return whole
  const described = { description, ...whole }
  const known = schemas[name]
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(described))
    throw new Error(`two schemas are called ${name}`)
  schemas[name] = described
  return { $ref: `#/components/schemas/${name}` }
}

/** The schemas, with names for the objects and the lists of values inside them. */
export function namedParts(schemas: NamedSchemas): NamedSchemas {
  const all: NamedSchemas = {}
  for (const [name, schema] of Object.entries(schemas))
    all[name] = isRecord(schema) ? withNamedParts(schema, name, all) : schema
  return all
}

function withNamedParts(schema: Json, name: string, schemas: NamedSchemas): Json {
  const { properties, items, anyOf, additionalProperties: values } = schema
  const part = (inner: unknown, suffix: string) =>
    named(inner, name + suffix, schemas, `Part of \`${name}\`.`)
  const options = Array.isArray(anyOf) ? anyOf.filter((option) => !isNull(option)) : []
  return {
    ...schema,
    ...(isRecord(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, inner]) => [
          key,
          withoutDefault(part(inner, capitalised(key))),
        ]),
      ),
    }),
    ...(isRecord(items) && { items: part(items, 'Item') }),
    ...(isRecord(values) && { additionalProperties: part(values, 'Value') }),
    ...(Array.isArray(anyOf) && {
      anyOf: anyOf.map((option) =>
        part(option, options.length === 1 ? '' : `Option${options.indexOf(option) + 1}`),
      ),
    }),
  }
}

/** Drops the default from a schema: some generators would make the field required. */
function withoutDefault(schema: unknown) {
  if (!isRecord(schema) || !('default' in schema)) return schema
  const { default: value, description = '', ...rest } = schema
  const said = `Default: \`${JSON.stringify(value)}\`.`
  return { ...rest, description: `${description} ${said}`.trimStart() }
}

const isNull = (schema: unknown) => isRecord(schema) && schema.type === 'null'

/** `messages.send` as `MessagesSend`. */
export const capitalised = (name: string) =>
  name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

type Media = { content?: Record<string, { schema?: unknown }> }
/** Names the body, the parameters and the result of an operation, after its id. */
export function withNames<
  Described extends {
    parameters?: readonly object[]
    requestBody?: object
    responses?: Record<string, object>
  },
>(described: Described, { id, op }: { id: string; op: Operation }, schemas: NamedSchemas) {
  const status = String(op.status ?? 200)
  const name = capitalised(id)
  const media = (part: Media | undefined, suffix: string, about: string) =>
    part?.content === undefined
      ? part
      : {
          ...part,
          content: Object.fromEntries(
            Object.entries(part.content).map(([type, { schema, ...rest }]) => [
              type,
              { schema: named(schema, name + suffix, schemas, about), ...rest },
            ]),
          ),
        }
  const { parameters, requestBody, responses } = described
  return {
    ...described,
    ...(parameters && {
      parameters: parameters.map((parameter) =>
        'schema' in parameter && 'name' in parameter
          ? {
              ...parameter,
              schema: named(parameter.schema, name + capitalised(String(parameter.name)), schemas),
            }
          : parameter,
      ),
    }),
    ...(requestBody && {
      requestBody: media(requestBody, 'Body', `Body of \`${id}\`: ${op.summary}.`),
    }),
    responses: {
      ...responses,
      [status]: media(responses?.[status], 'Result', `Response of \`${id}\`: ${op.summary}.`),
    },
  }
}
