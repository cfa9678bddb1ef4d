import {
  channelEvents,
  endpointPath,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  limits,
  streamPaths,
  topics,
  userEvents,
} from '@parley/contract'
import { z } from 'zod'
import { exampleOf, type Schema, type Schemas } from './examples.ts'
import { capitalised, named, namedParts } from './naming.ts'
import { simplifySchemas } from './simplify.ts'

/**
 * The events as an AsyncAPI 3 document: topics, envelopes and payloads, from the contract. `wsUrl`
 * is where the server says that its endpoint is.
 */
function asyncApiDocument(wsUrl: string) {
  const { host, pathname, protocol } = new URL(wsUrl)
  const below = pathname.slice(0, -endpointPath.length)
  const http = { host, protocol: protocol === 'wss:' ? 'https' : 'http' }
  const schemas: Schemas = {}
  const channelMessages = {
    ...messagesOf({ events: channelEvents, isDurable: true }, schemas),
    ...messagesOf({ events: ephemeralChannelEvents, isDurable: false }, schemas),
  }
  const userMessages = {
    ...messagesOf({ events: userEvents, isDurable: true, isOfUser: true }, schemas),
    ...messagesOf({ events: ephemeralUserEvents, isDurable: false, isOfUser: true }, schemas),
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley',
      version: limits.apiVersion,
      description: introduction,
      license: { name: 'MIT' },
    },
    servers: {
      endpoint: {
        host,
        pathname,
        protocol: protocol.slice(0, -1),
        description:
          'Centrifuge client protocol, version 2: JSON, or Protobuf with the WebSocket ' +
          'subprotocol `centrifuge-protobuf`. `POST /tokens` returns the address as `wsUrl`.',
        security,
      },
      httpStream: {
        ...http,
        pathname: `${below}${streamPaths.http_stream}`,
        description:
          'The same protocol where WebSockets are blocked: the body of a POST has the connect ' +
          'command, and the answer, which does not end, has a reply on each line. Other commands ' +
          `go to \`POST ${below}${streamPaths.emulation}\`, as \`{session, node, data}\`: the ` +
          'first two are from the connect reply.',
        security,
      },
      sse: {
        ...http,
        pathname: `${below}${streamPaths.sse}`,
        description:
          'The same as server-sent events, for a GET with the connect command as `cf_connect`.',
        security,
      },
    },
    channels: {
      channel: topic(topics.channel('{appId}', '{channelId}'), {
        title: 'A channel',
        description:
          'Events of a channel, for users who may read it. The subscription ends when they no ' +
          'longer may.',
        parameters: { appId, channelId: { description: 'Id of the channel.' } },
        messages: channelMessages,
      }),
      user: topic(topics.user('{appId}', '{userId}'), {
        title: 'A user',
        description:
          "Events for one user: changes of the user's channels, settings and unread counts, and " +
          'presence. The data of the connect reply has the name of this topic as `userTopic`.',
        parameters: { appId, userId: { description: "The user's own id." } },
        messages: userMessages,
      }),
    },
    operations: {
      receiveChannelEvents: {
        action: 'send',
        channel: { $ref: '#/channels/channel' },
        summary: 'The server publishes what happens in a channel.',
      },
      receiveUserEvents: {
        action: 'send',
        channel: { $ref: '#/channels/user' },
        summary: 'The server publishes what happens to a user.',
      },
    },
    components: {
      messages: { ...channelMessages, ...userMessages },
      schemas: namedParts(schemas),
      securitySchemes: {
        wsToken: {
          type: 'httpApiKey',
          in: 'query',
          name: 'token',
          description: "`wsToken` of `POST /tokens`, sent as the connect command's `token`.",
        },
      },
    },
  }
}

/** The text of `asyncapi.json`, for a server with its endpoint at `wsUrl`. */
export const asyncApiJson = (wsUrl = `ws://127.0.0.1:5501${endpointPath}`) =>
  `${JSON.stringify(asyncApiDocument(wsUrl), null, 2)}\n`

const introduction = `\
Events of Parley, for any client of the Centrifuge protocol. The data of each publication is an \
envelope \`{type, payload}\`.

Durable events have an offset, are stored for ${limits.eventsKeptHours} hours and are recovered \
after a reconnect: each arrives exactly once, in order. On a channel's topic the offset is the \
channel's \`rev\`. Ephemeral events have no offset and are not recovered.

Clients do not publish: they write through the REST API (\`openapi.json\`).`

const security = [{ $ref: '#/components/securitySchemes/wsToken' }]
const appId = { description: '`appId` of `POST /tokens`.' }

function topic(
  address: string,
  {
    messages,
    ...described
  }: { title: string; description: string; parameters: object; messages: object },
) {
  const refs = Object.keys(messages).map((name) => [
    name,
    { $ref: `#/components/messages/${name}` },
  ])
  return { address, ...described, messages: Object.fromEntries(refs) }
}

type Events = { events: Record<string, z.ZodObject>; isDurable: boolean; isOfUser?: boolean }

/**
 * The messages of a topic by name; the schemas that they refer to are added to `schemas`. Some
 * events have copies on the topics of users.
 */
function messagesOf({ events, isDurable, isOfUser = false }: Events, schemas: Schemas) {
  const messages = Object.entries(events).map(([type, payload]) => {
    const envelope = envelopeSchema(type, payload, schemas)
    const isCopy = isOfUser && (type in channelEvents || type in ephemeralChannelEvents)
    const message = {
      name: type,
      title: type,
      summary: payload.description ?? type,
      contentType: 'application/json',
      description: isDurable
        ? 'Durable: has an offset and is recovered.'
        : 'Ephemeral: has no offset and is never recovered.',
      payload: envelope,
      examples: [{ name: type, payload: exampleOf(envelope, schemas) }],
    }
    return [`${isCopy ? 'User' : ''}${capitalised(type)}`, message]
  })
  return Object.fromEntries(messages)
}

/** The envelope of an event as a component, and its payload as another: copies share them. */
function envelopeSchema(type: string, payload: z.ZodObject, schemas: Schemas): Schema {
  const envelope = z.object({ type: z.literal(type), payload })
  const {
    $schema: _,
    definitions = {},
    properties = {},
    ...schema
  } = z.toJSONSchema(envelope, { io: 'output', target: 'draft-7' })
  // zod types the definitions as unknown.
  for (const [name, definition] of Object.entries(definitions as Record<string, object>))
    schemas[name] = relocate(definition)
  const name = capitalised(type)
  const described = Object(properties.payload)
  const relocated = relocate({
    ...schema,
    properties: {
      ...properties,
      payload: { ...described, description: `The payload of \`${type}\`.` },
    },
  })
  return named(relocated, name, schemas, `The event \`${type}\`.`) as Schema // a reference
}

/** Points references at `components/schemas`, where all messages share the definitions. */
const relocate = (schema: object): Schema =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"#/definitions/', '"#/components/schemas/'),
    simplifySchemas,
  )
