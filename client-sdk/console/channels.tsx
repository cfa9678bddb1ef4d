import { addressOf, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { type Column, PagedTable } from './table.tsx'
import type { Channel } from './types.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

/** Its name, or who talks in a direct message, which has none. */
export const titleOf = ({ name, directUserIds }: Pick<Channel, 'name' | 'directUserIds'>) =>
  name ?? directUserIds?.join(' and ') ?? 'Without a name'

const isChannelId = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/** The channels of an app: all, those of a user, or those with a name. */
export function Channels({ appId }: { appId: string }) {
  const { query } = useRoute()
  const q = query.get('q') ?? ''
  const userId = query.get('userId') ?? ''
  const filter = userId === '' ? { q: q || undefined } : { userId }
  const pages = usePages(async (cursor) => {
    const [{ channels, nextCursor }, named] = await Promise.all([
      api.inspect.channels({ appId, ...filter, cursor }),
      cursor === undefined && isChannelId(q)
        ? api.inspect.channels({ appId, channelId: q })
        : { channels: [] },
    ])
    return { rows: [...named.channels, ...channels], nextCursor }
  }, `${appId} ${q} ${userId}`)
  return (
    <>
      {userId === '' ? (
        <div className="search">
          <SearchBox
            label="Search channels"
            placeholder="Part of a name, or an id"
            value={q}
            addressOf={(text) => addressOf(['apps', appId, 'channels'], { q: text.trim() })}
          />
        </div>
      ) : (
        <p>
          Channels of <strong>{userId}</strong> ·{' '}
          <a href={addressOf(['apps', appId, 'channels'])}>Show all</a>
        </p>
      )}
      <PagedTable
        label="Channels"
        columns={columnsOf(appId)}
        pages={pages}
        keyOf={({ id }) => id}
        empty="No channels here."
      />
    </>
  )
}

const columnsOf = (appId: string): Column<Channel>[] => [
  {
    title: 'Channel',
    cell: (channel) => (
      <>
        <a href={addressOf(['apps', appId, 'channels', channel.id])}>{titleOf(channel)}</a>{' '}
        {channel.frozen && <span className="badge">Frozen</span>}{' '}
        {channel.muted && <span className="badge">Muted</span>}
      </>
    ),
  },
  { title: 'Type', cell: ({ type }) => type, isMinor: true },
  { title: 'Members', cell: ({ memberCount }) => memberCount, isNumber: true },
  { title: 'Messages', cell: ({ lastSeq }) => lastSeq, isNumber: true, isMinor: true },
  {
    title: 'Last message',
    cell: ({ lastSeq, lastActivityAt }) => (
      // Until somebody writes, the last activity is that the channel was created.
      <When iso={lastSeq === 0 ? null : lastActivityAt} never="–" />
    ),
  },
  { title: 'Created by', cell: ({ createdBy }) => createdBy, isMinor: true },
]
