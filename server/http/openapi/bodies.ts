import { ImportRecord, type Operation } from '@parley/contract'
import { z } from 'zod'
import type { Schema } from './examples.ts'
import type { NamedSchemas } from './naming.ts'

type JsonBody<Content> = { body: Schema; content: Content }

/** The request body of an operation, if it takes one: JSON, or a stream of lines. */
export function requestBodyOf<Content>(
  { streams }: Operation,
  json: JsonBody<Content> | undefined,
) {
  if (streams !== undefined) return { requestBody: streamedBody(streams) }
  return json && { requestBody: { required: hasRequired(json.body), content: json.content } }
}

const hasRequired = (schema: Schema) => 'required' in schema && (schema.required ?? []).length > 0

/**
 * Text, for OpenAPI 3.1 has no words for lines. Of JSON Schema, `contentSchema` says what is in it.
 * Generators that do not read that have each record as a component. A component for all of them
 * would be a union, for which some clients need another library.
 */
const streamedBody = (type: string) => ({
  required: true,
  content: {
    [type]: {
      schema: {
        type: 'string' as const,
        description: `NDJSON: one record a line, ${names.join(', ')}.`,
        contentMediaType: type,
        contentSchema: {
          type: 'array',
          items: {
            oneOf: records.map(({ ref }) => ({ $ref: ref })),
            discriminator: {
              propertyName: 'record',
              mapping: Object.fromEntries(records.map(({ kind, ref }) => [kind, ref])),
            },
          },
        },
      },
      example: '{"record":"user","id":"ana","name":"Ana"}\n',
    },
  },
})

const records = ImportRecord.options.map((record) => {
  const { id: name = '' } = z.globalRegistry.get(record) ?? {}
  return { kind: record.shape.record.value, name, ref: `#/components/schemas/${name}` }
})

const names = records.map(({ name }) => `\`${name}\``)

/**
 * The schemas with records as they are sent. No operation takes one as JSON, so the generator
 * describes them as answers have them, too, with their defaults filled in.
 */
export function withSentRecords({ ImportRecord: _, ...schemas }: NamedSchemas): NamedSchemas {
  const isAnswer = (name: string) => records.some((record) => name === `${record.name}Output`)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !isAnswer(name)))
}
