import type { OpenAPIObject } from 'trpc-to-openapi'

export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>
export type Schema = Schemas[string]

/**
 * An example of the whole, composed of the examples of its parts. Optional ids are left out: the
 * example would only work if something with that id existed.
 */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  if ('$ref' in schema)
    return exampleOf(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, schemas)
  const { examples, const: constant, allOf, anyOf, items, properties } = schema
  if (examples) return examples[0]
  if (constant !== undefined) return constant
  // A component with its own description is wrapped in an `allOf` or `anyOf` of one.
  const [part] = allOf ?? anyOf ?? []
  if (part) return exampleOf(part, schemas)
  if (items) return [exampleOf(items, schemas)]
  const shown = Object.entries(properties ?? {}).filter(
    ([name, property]) => schema.required?.includes(name) || !isId(property),
  )
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, schemas)]))
}

const isId = (schema: Schema) => 'format' in schema && schema.format === 'uuid'
