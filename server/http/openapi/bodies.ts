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
 * Declared as text, since OpenAPI 3.1 cannot describe lines. JSON Schema's `contentSchema` says
 * what they contain. For generators that ignore it, each record is a component. There is no
 * component for all records: it would be a union, for which some clients need another library.
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
 * Replaces the schemas of records by those of what is sent. No operation takes a record as JSON, so
 * the generator describes it only as an answer would have it, with defaults filled in.
 */
export function withSentRecords({ ImportRecord: _, ...schemas }: NamedSchemas): NamedSchemas {
  const isAnswer = (name: string) => records.some((record) => name === `${record.name}Output`)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !isAnswer(name)))
}
