import {
  type Auth,
  contract,
  ErrorBody,
  limits,
  type Operation,
  tagDescriptions,
} from '@parley/contract'
import { initTRPC } from '@trpc/server'
import {
  generateOpenApiDocument,
  type OpenAPIObject,
  type OpenApiMeta,
  type SecuritySchemeObject,
} from 'trpc-to-openapi'
import { z } from 'zod'
import { exampleOf, type Schema, type Schemas } from './examples.ts'
import { type Answer, errorAnswers, headers, sharedAnswers, successAnswer } from './responses.ts'

/**
 * The contract as an OpenAPI 3.1 document. trpc-to-openapi turns the schemas into parameters and bodies; statuses,
 * refusals, who may call, and examples are read from the operations.
 */
export function openApiDocument(): OpenAPIObject {
  const { info, paths: generated, components } = simplify(generate())
  const paths: Paths = {}
  for (const { op } of operations) {
    const method = op.method.toLowerCase() as Lowercase<Operation['method']> // TypeScript says string
    const described = generated?.[op.path]?.[method]
    if (!described) throw new Error(`no description of ${op.method} ${op.path}`)
    paths[op.path] = {
      ...paths[op.path],
      [method]: correct(described, op, components?.schemas ?? {}),
    }
  }
  return {
    openapi: '3.1.0',
    info: { ...info, description: introduction, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'The server that answers with this document.' }],
    tags: Object.entries(tagDescriptions).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      ...components,
      responses: sharedAnswers(operations.map(({ op }) => op)),
      headers,
    },
  }
}

/** The text of `openapi.json`. */
export const openApiJson = () => `${JSON.stringify(openApiDocument(), null, 2)}\n`

const introduction = `\
A chat backend: channels, messages, threads, reactions and read state.

A backend calls \`POST /tokens\` with its API key and hands the token to its front end, which calls everything under \`/api\` with it.

Bodies are JSON in UTF-8, ids of channels and messages are UUIDs, times are ISO 8601 in UTC. Unknown fields of a request are ignored, and answers may gain fields.

Every error has the body \`{"error": {"message", "code"}}\`; refusals come in the order 401, 429, 400, 404, 403.`

const securitySchemes: Record<string, SecuritySchemeObject> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A user, by the `token` of `POST /tokens`.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: "An app's backend, by the `apiKey` of `POST /admin/apps`.",
  },
  adminKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Admin-Key',
    description: "The operator, by the server's ADMIN_API_KEY.",
  },
}
const security: Record<Auth, Record<string, string[]>[]> = {
  none: [],
  admin: [{ adminKey: [] }],
  key: [{ apiKey: [] }],
  user: [{ bearer: [] }],
  userOrKey: [{ bearer: [] }, { apiKey: [] }],
}

type Paths = NonNullable<OpenAPIObject['paths']>
type Described = NonNullable<Paths[string]['get']>
type Parameter = NonNullable<Described['parameters']>[number]

const operations = Object.entries<Record<string, Operation>>(contract).flatMap(([noun, group]) =>
  Object.entries(group).map(([name, op]) => ({ id: `${noun}.${name}`, noun, op })),
)

function generate() {
  const { procedure, router } = initTRPC.meta<OpenApiMeta>().create()
  const describe = ({
    id,
    noun,
    op: { method, path, summary, description, input, output },
  }: (typeof operations)[number]) =>
    procedure
      .meta({
        openapi: {
          method,
          path,
          operationId: id,
          summary,
          description,
          tags: [noun],
          errorResponses: [],
        },
      })
      .input(input)
      .output(output)
      .query((): never => {
        throw new Error(`${id} is only described here`)
      })
  const described = router(
    Object.fromEntries(operations.map((operation) => [operation.id, describe(operation)])),
  )
  return generateOpenApiDocument(described, {
    title: 'Parley',
    version: limits.apiVersion,
    baseUrl: '/',
    securitySchemes,
    defs: { Error: ErrorBody },
  })
}

/** What the generator could not know of an operation. */
function correct(
  { parameters, requestBody, responses, ...described }: Described,
  op: Operation,
  schemas: Schemas,
): Described {
  const sent = jsonSchema(requestBody)
  const answered = jsonSchema(responses?.[200])
  return {
    ...described,
    security: security[op.auth],
    ...(parameters &&
      parameters.length > 0 && {
        parameters: parameters.map((parameter) => inOwnWords(parameter, op)),
      }),
    ...(sent && { requestBody: { required: hasRequired(sent), content: json(sent, schemas) } }),
    responses: {
      [op.status ?? 200]: successAnswer(op, json(answered ?? {}, schemas)),
      ...errorAnswers(op),
    },
  }
}

/** The generator reads a parameter's words below `.optional()` and `.default()`, where they are those of the type. */
function inOwnWords(parameter: Parameter, { input }: Operation): Parameter {
  if (!('schema' in parameter) || !parameter.schema || '$ref' in parameter.schema) return parameter
  const own = input.shape[parameter.name]
  const { description: general, examples: generalExamples, ...schema } = parameter.schema
  const { description = general, examples = generalExamples } = {
    ...(own && z.globalRegistry.get(own)),
  }
  return {
    ...parameter,
    ...(description && { description }),
    schema: { ...schema, ...(Array.isArray(examples) && { examples }) },
  }
}

const jsonSchema = (part: Described['requestBody'] | Answer): Schema | undefined =>
  part && 'content' in part ? part.content?.['application/json']?.schema : undefined
const json = (schema: Schema, schemas: Schemas) => ({
  'application/json': { schema, example: exampleOf(schema, schemas) },
})
const hasRequired = (schema: Schema) => 'required' in schema && (schema.required ?? []).length > 0

/**
 * The document without what misleads or says nothing: answers may gain fields, a format says more than its pattern, an
 * integer's bounds are those of JavaScript, and then a schema reads the same in requests and in answers.
 */
function simplify(document: OpenAPIObject): OpenAPIObject {
  const simple: OpenAPIObject = JSON.parse(JSON.stringify(document), (_, value) =>
    isRecord(value) ? simpler(value) : value,
  )
  const schemas = simple.components?.schemas ?? {}
  const twins = Object.keys(schemas).filter(
    (name) => JSON.stringify(schemas[name]) === JSON.stringify(schemas[`${name}Output`]),
  )
  return JSON.parse(JSON.stringify(simple), (key, value) => {
    if (twins.some((name) => key === `${name}Output`)) return undefined
    const twin =
      key === '$ref' && twins.find((name) => value === `#/components/schemas/${name}Output`)
    return twin ? `#/components/schemas/${twin}` : value
  })
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function simpler({
  additionalProperties,
  pattern,
  minimum,
  maximum,
  ...schema
}: Record<string, unknown>) {
  return {
    ...schema,
    ...(additionalProperties !== undefined &&
      additionalProperties !== false && { additionalProperties }),
    ...(pattern !== undefined && typeof schema.format !== 'string' && { pattern }),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  }
}
