import type { Operation } from '@parley/contract'
import type { Schema } from './examples.ts'

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

/** Lines, for OpenAPI has no words for their schema. */
const streamedBody = (type: string) => ({
  required: true,
  content: {
    [type]: {
      schema: { type: 'string' as const, description: 'NDJSON: one record a line.' },
      example: '{"record":"user","id":"ana","name":"Ana"}\n',
    },
  },
})
