import { type AppRouter, contract, limits, Message } from '@parley/contract'
import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client'

/** Code of a TypeScript backend that needs only the contract. */
export async function main(url: string, token: string) {
  const requests: string[] = []
  const client = createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${url}/trpc`,
        headers: { authorization: `Bearer ${token}` },
        fetch: (input, init) => {
          requests.push(new URL(String(input)).pathname)
          return fetch(input, init as RequestInit) // tRPC's own type of the same
        },
      }),
    ],
  })
  const channel = await client.channels.create.mutate({ type: 'group', name: 'Contract' })
  const sent = await Promise.all(
    ['one', 'two'].map((text) => client.messages.send.mutate({ channelId: channel.id, text })),
  )
  const [page, unread, missing, malformed] = await Promise.all([
    client.messages.list.query({ channelId: channel.id, limit: limits.page.messages.max }),
    client.reads.unreadCount.query(),
    client.channels.get.query({ channelId: '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81' }).catch(refusal),
    client.channels.list.query({ limit: 0 }).catch(refusal),
  ])
  const text: string | undefined = page.messages[0]?.text
  const seqs: number[] = sent.map((message) => message.seq)
  return {
    text,
    seqs,
    unread,
    missing,
    malformed,
    requests,
    isMessage: Message.safeParse(page.messages[0]).success,
    path: contract.messages.send.path,
  }
}

const refusal = (error: unknown) => {
  if (!isRefusal(error) || !error.data) throw error
  const { code, httpStatus } = error.data
  const known: 'NOT_FOUND' | 'VALIDATION_ERROR' | undefined =
    code === 'NOT_FOUND' || code === 'VALIDATION_ERROR' ? code : undefined
  return { code: known, httpStatus, message: error.message }
}
const isRefusal = (error: unknown): error is TRPCClientError<AppRouter> =>
  error instanceof TRPCClientError

/** Mistakes that do not compile. */
export const mistakes = (client: ReturnType<typeof createTRPCClient<AppRouter>>) => [
  // @ts-expect-error a channel has a type
  () => client.channels.create.mutate({ name: 'Contract' }),
  // @ts-expect-error the types of channels are known
  () => client.channels.create.mutate({ type: 'secret', name: 'Contract' }),
  // @ts-expect-error a text is a string
  () => client.messages.send.mutate({ channelId: 'x', text: 7 }),
  // @ts-expect-error reading does not mutate
  () => client.messages.list.mutate({ channelId: 'x' }),
  // @ts-expect-error there is no such operation
  () => client.messages.forward.mutate({ channelId: 'x' }),
  async (): Promise<string> => {
    const { seq } = await client.messages.get.query({ channelId: 'x', messageId: 'y' })
    // @ts-expect-error a seq is a number
    return seq
  },
]
