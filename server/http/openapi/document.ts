import {
  type Auth,
  contract,
  ErrorBody,
  grouped,
  ImportRecord,
  limits,
  nounDescriptions,
  type Operation,
} from '@parley/contract'
import { initTRPC } from '@trpc/server'
import {
  generateOpenApiDocument,
  type OpenAPIObject,
  type OpenApiMeta,
  type SecuritySchemeObject,
} from 'trpc-to-openapi'
import { z } from 'zod'
import { requestBodyOf, withSentRecords } from './bodies.ts'
import { exampleOf, type Schema, type Schemas } from './examples.ts'
import { namedParts, withNames } from './naming.ts'
import {
  errorAnswers,
  headers,
  type Response,
  sharedResponses,
  successResponse,
} from './responses.ts'
import { simplifySchemas } from './simplify.ts'

/**
 * The contract as an OpenAPI 3.1 document. trpc-to-openapi turns the schemas into parameters and
 * bodies. Statuses, errors, security and examples come from the operations.
 */
function openApiDocument(): OpenAPIObject {
  const { info, paths: generated, components } = simplify(generate())
  const paths: Paths = {}
  const schemas = namedParts(withSentRecords(components?.schemas ?? {}))
  for (const { id, op } of operations) {
    const method = methods[op.method]
    const described = generated?.[op.path]?.[method]
    if (!described) throw new Error(`no description of ${op.method} ${op.path}`)
    paths[op.path] = {
      ...paths[op.path],
      [method]: withNames(complete(described, op, components?.schemas ?? {}), { id, op }, schemas),
    }
  }
  return {
    openapi: '3.1.0',
    info: { ...info, description: introduction, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'The server that serves this document.' }],
    tags: Object.entries(nounDescriptions).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      ...components,
      schemas: schemas as Schemas, // those of the generator, in parts
      responses: sharedResponses(operations.map(({ op }) => op)),
      headers,
    },
  }
}

/** The text of `openapi.json`. */
export const openApiJson = () => `${JSON.stringify(openApiDocument(), null, 2)}\n`

const introduction = `\
A chat backend: channels, messages, threads, reactions and read state.

A backend calls \`POST /tokens\` with its API key and passes the token to its front end, which \
uses it for every call under \`/api\` but those that take only an API key. With \`X-API-Key\` and \
\`X-User-Id\` the backend itself makes any of these calls as a user. If a call accepts both and \
has both, the bearer token is used and \`X-API-Key\` is ignored.

Bodies are JSON in UTF-8, ids of channels and messages are UUIDs, times are ISO 8601 in UTC. \
Unknown fields of a request are ignored, unless an operation says that they are refused, and \
responses may gain fields. Refused are the keys \`__proto__\` and \`constructor.prototype\`, NUL \
and lone surrogates in text, and integers beyond 2^53. A path with a method that is not described \
here is NOT_FOUND, and TRACE is METHOD_NOT_ALLOWED everywhere.

A user may send ${limits.rates.messages} messages and make ${grouped(limits.rates.requests)} \
other calls a minute. An API key may make ${grouped(limits.rates.requests)} calls, and mint \
${limits.rates.tokens} tokens from one address. Appends to streamed messages count apart: \
${grouped(limits.rates.appends)} a minute for each user. The operator may have set other limits: \
those of a call are in \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` of its \
answer. Over them it is RATE_LIMITED, with \`Retry-After\`.

Every error has the body \`{"error": {"message", "code"}}\`. If several errors apply, the first of \
401, 429, 400, 404, 403 is returned; a disabled app comes after 401, a missing scope after 429.`

const securitySchemes: Record<string, SecuritySchemeObject> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A user, with the `token` of `POST /tokens`.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: "An app's backend, with the `apiKey` of `POST /admin/apps`.",
  },
  userId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-User-Id',
    description:
      'Beside `X-API-Key`: the user as whom the backend calls, with their rights. An unknown id ' +
      'makes a new user, as `POST /tokens` does. Not together with a bearer token.',
  },
  adminKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Admin-Key',
    description: "The operator, with the server's ADMIN_API_KEY.",
  },
}
const security: Record<Auth, Record<string, string[]>[]> = {
  none: [],
  admin: [{ adminKey: [] }],
  key: [{ apiKey: [] }],
  user: [{ bearer: [] }, { apiKey: [], userId: [] }],
  userOrKey: [{ bearer: [] }, { apiKey: [], userId: [] }, { apiKey: [] }],
}
const methods = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
} as const satisfies Record<Operation['method'], string>

type Paths = NonNullable<OpenAPIObject['paths']>
type DescribedOperation = NonNullable<Paths[string]['get']>
type Parameter = NonNullable<DescribedOperation['parameters']>[number]

const operations = Object.entries<Record<string, Operation>>(contract).flatMap(([noun, verbs]) =>
  Object.entries(verbs).map(([verb, op]) => ({ id: `${noun}.${verb}`, noun, op })),
)

/** The document that trpc-to-openapi makes of a router with the operations. */
function generate() {
  const { procedure, router } = initTRPC.meta<OpenApiMeta>().create()
  const describe = ({ id, noun, op }: (typeof operations)[number]) => {
    const { method, path, summary, description } = op
    return procedure
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
      .input(op.input)
      .output(op.output)
      .query((): never => {
        throw new Error(`${id} is only described here`)
      })
  }
  const described = router(
    Object.fromEntries(operations.map((operation) => [operation.id, describe(operation)])),
  )
  return generateOpenApiDocument(described, {
    title: 'Parley',
    version: limits.apiVersion,
    baseUrl: '/',
    securitySchemes,
    defs: { ApiError: ErrorBody, ImportRecord },
  })
}

/** Adds to a generated operation what the generator cannot know. */
function complete(
  { parameters = [], requestBody, responses, ...described }: DescribedOperation,
  op: Operation,
  schemas: Schemas,
): DescribedOperation {
  const body = jsonSchema(requestBody)
  const result = jsonSchema(responses?.[200]) ?? {}
  return {
    ...described,
    security: security[op.auth],
    ...(parameters.length > 0 && {
      parameters: parameters.map((parameter) => withOwnMeta(parameter, op)),
    }),
    ...requestBodyOf(op, body && { body, content: json(body, schemas) }),
    responses: {
      [op.status ?? 200]: successResponse(op, json(result, schemas)),
      ...errorAnswers(op),
    },
  }
}

/**
 * A parameter with the description and examples of its field. The generator takes those below
 * `.optional()` and `.default()`, which are those of the type.
 */
function withOwnMeta(parameter: Parameter, { input }: Operation): Parameter {
  if (!('schema' in parameter) || !parameter.schema) return parameter
  const field = input.shape[parameter.name]
  if ('$ref' in parameter.schema)
    return { ...parameter, ...(field?.description && { description: field.description }) }
  const { description: ofType, examples: examplesOfType, ...schema } = parameter.schema
  const { description = ofType, examples = examplesOfType } = {
    ...(field && z.globalRegistry.get(field)),
  }
  const isInteger = 'type' in schema && schema.type === 'integer'
  return {
    ...parameter,
    ...(description && { description }),
    schema: {
      ...schema,
      ...(isInteger && { maximum: schema.maximum ?? Number.MAX_SAFE_INTEGER }),
      ...(Array.isArray(examples) && { examples }),
    },
  }
}

const jsonSchema = (part: DescribedOperation['requestBody'] | Response): Schema | undefined =>
  part && 'content' in part ? part.content?.['application/json']?.schema : undefined
const json = (schema: Schema, schemas: Schemas) => ({
  'application/json': { schema, example: exampleOf(schema, schemas) },
})

/**
 * The document without what misleads or says nothing (see `simplifySchemas`). A schema then reads
 * the same in requests and in responses, and the generator's second copy of it for responses,
 * `<name>Output`, is dropped.
 */
function simplify(document: OpenAPIObject): OpenAPIObject {
  const simple: OpenAPIObject = JSON.parse(JSON.stringify(document), simplifySchemas)
  const schemas = simple.components?.schemas ?? {}
  const copied = Object.keys(schemas).filter(
    (name) => JSON.stringify(schemas[name]) === JSON.stringify(schemas[`${name}Output`]),
  )
  const copies = new Set(copied.map((name) => `${name}Output`))
  const originals = new Map(
    copied.map((name) => [`#/components/schemas/${name}Output`, `#/components/schemas/${name}`]),
  )
  return JSON.parse(JSON.stringify(simple), (key, value) => {
    if (copies.has(key)) return undefined
    return key === '$ref' ? (originals.get(value) ?? value) : value
  })
}
