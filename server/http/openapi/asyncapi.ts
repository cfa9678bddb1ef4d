import {
  channelEvents,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  limits,
  userEvents,
} from '@parley/contract'
import { z } from 'zod'
import { isRecord, simpler } from './document.ts'
import { exampleOf, type Schema, type Schemas } from './examples.ts'

type Events = Record<string, z.ZodObject>

/** What is published on the WebSocket, as an AsyncAPI 3 document: topics, envelopes and payloads, read from the contract. */
export function asyncApiDocument() {
  const schemas: Schemas = {}
  const channelMessages = {
    ...messagesOf('channel', { events: channelEvents, isDurable: true }, schemas),
    ...messagesOf('channel', { events: ephemeralChannelEvents, isDurable: false }, schemas),
  }
  const userMessages = {
    ...messagesOf('user', { events: userEvents, isDurable: true }, schemas),
    ...messagesOf('user', { events: ephemeralUserEvents, isDurable: false }, schemas),
  }
  const id = (description: string) => ({ description })
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
        host: '127.0.0.1:5501',
        pathname: '/connection/websocket',
        protocol: 'wss',
        description:
          'Centrifuge client protocol, version 2; JSON, or Protobuf with the sub-protocol `centrifuge-protobuf`. `wsUrl` of `POST /tokens` is its address.',
        security: [{ $ref: '#/components/securitySchemes/wsToken' }],
      },
    },
    channels: {
      channel: topic('chat:{appId}:{channelId}', {
        title: 'A channel',
        description: 'For those who may read the channel. Ends when they no longer may.',
        parameters: {
          appId: id('`appId` of `POST /tokens`.'),
          channelId: id('Id of the channel.'),
        },
        messages: channelMessages,
      }),
      user: topic('user:{appId}:{userId}', {
        title: 'A user',
        description:
          "For the user himself: all that concerns him beyond the channels he listens to. The connect reply's `data.userTopic` names it.",
        parameters: { appId: id('`appId` of `POST /tokens`.'), userId: id("The user's own id.") },
        messages: userMessages,
      }),
    },
    operations: {
      hearChannel: {
        action: 'send',
        channel: { $ref: '#/channels/channel' },
        summary: 'The server publishes what happens in a channel.',
      },
      hearUser: {
        action: 'send',
        channel: { $ref: '#/channels/user' },
        summary: 'The server publishes what concerns a user.',
      },
    },
    components: {
      messages: { ...channelMessages, ...userMessages },
      schemas,
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

/** The text of `asyncapi.json`. */
export const asyncApiJson = () => `${JSON.stringify(asyncApiDocument(), null, 2)}\n`

const introduction = `\
Events of Parley, over any client of the Centrifuge protocol. Each publication's data is an envelope \`{type, payload}\`.

Durable events carry an offset, are kept for ${limits.eventsKeptHours} hours and recovered after a reconnect: each arrives exactly once, in order. On a channel's topic the offset is the channel's \`rev\`. Ephemeral events carry none.

Publish through the REST API (\`openapi.json\`).`

const topic = (
  address: string,
  {
    messages,
    ...described
  }: { title: string; description: string; parameters: object; messages: object },
) => ({
  address,
  ...described,
  messages: Object.fromEntries(
    Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
  ),
})

function messagesOf(
  place: string,
  { events, isDurable }: { events: Events; isDurable: boolean },
  schemas: Schemas,
) {
  return Object.fromEntries(
    Object.entries(events).map(([type, payload]) => {
      const {
        $schema: _,
        definitions = {},
        ...schema
      } = z.toJSONSchema(z.object({ type: z.literal(type), payload }), {
        io: 'output',
        target: 'draft-7',
      })
      for (const [name, definition] of Object.entries(definitions as Record<string, object>))
        schemas[name] = relocate(definition) // zod says unknown

      const envelope = relocate(schema)
      const summary = payload.description ?? type
      const message = {
        name: type,
        title: type,
        summary,
        contentType: 'application/json',
        description: isDurable
          ? 'Durable: with an offset, recovered.'
          : 'Ephemeral: without an offset, never recovered.',
        payload: envelope,
        examples: [{ name: type, payload: exampleOf(envelope, schemas) }],
      }
      return [`${place}.${type}`, message]
    }),
  )
}

/** Definitions stand beside the messages, where others can refer to them too. */
const relocate = (schema: object): Schema =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"#/definitions/', '"#/components/schemas/'),
    (_, value) => (isRecord(value) ? simpler(value) : value),
  )
