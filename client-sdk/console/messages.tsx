import { Skeletons } from '../playground/skeletons.tsx'
import { titleOf } from './channels.tsx'
import { isoOf } from './format.ts'
import { isId } from './is-id.ts'
import { addressOf, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { NOTHING_YET, NotFound, ProblemNote, Refresh } from './table.tsx'
import type { Message } from './types.ts'
import { useData } from './use-data.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

/** The messages of a channel, the newest first, as they are stored. */
export function Messages({ appId, channelId }: { appId: string; channelId: string }) {
  const { query } = useRoute()
  const [q, author] = [query.get('q') ?? '', query.get('author') ?? '']
  const before = query.get('before') ?? ''
  const pages = usePages(async (cursor) => {
    // Nobody has such an id.
    if (author !== '' && !isId(author)) return { rows: [], nextCursor: null }
    const by = { q: q || undefined, userId: author || undefined, sentBefore: isoOf(before) }
    const page = await api.inspect.messages({ appId, channelId, ...by, cursor })
    return { rows: page.messages, nextCursor: page.nextCursor }
  }, `${appId} ${channelId} ${author} ${before} ${q}`)
  const filtered = (filter: Record<string, string>) =>
    addressOf(['apps', appId, 'channels', channelId], { q, author, before, ...filter })
  const { rows, isLoading, problem, hasMore } = pages
  const channels = addressOf(['apps', appId, 'channels'])
  if (problem?.code === 'NOT_FOUND' && rows.length === 0)
    return <NotFound what="channel" list={{ title: 'All channels', address: channels }} />
  return (
    <>
      <header className="page-head">
        <p className="crumb">
          <a href={channels}>Channels</a> /
        </p>
        <ChannelTitle appId={appId} channelId={channelId} />
        <Refresh reload={pages.reload} />
      </header>
      <p className="muted">Reading a channel that is not public is noted in the audit log.</p>
      <div className="search">
        <SearchBox
          label="Search messages"
          placeholder="Part of the text"
          value={q}
          addressOf={(text) => filtered({ q: text.trim() })}
        />
        <SearchBox
          label="Author"
          placeholder="Id of the author"
          value={author}
          addressOf={(text) => filtered({ author: text.trim() })}
        />
        <SearchBox
          label="Sent before"
          type="datetime-local"
          value={before}
          addressOf={(text) => filtered({ before: text })}
        />
      </div>
      {problem && <ProblemNote problem={problem} onRetry={pages.reload} />}
      {rows.length > 0 && (
        <ul className="card messages" aria-label="Messages">
          {rows.map((message) => (
            <MessageRow key={message.id} message={message} />
          ))}
        </ul>
      )}
      {rows.length === 0 && isLoading && <Skeletons label="Loading messages" count={5} />}
      {rows.length === 0 && !isLoading && !problem && (
        <p className="empty">{hasMore ? NOTHING_YET : 'No messages here.'}</p>
      )}
      {hasMore && (
        <button
          type="button"
          className="button button-quiet more"
          disabled={isLoading}
          onClick={pages.loadMore}
        >
          {isLoading ? 'Loading…' : 'Show older'}
        </button>
      )}
    </>
  )
}

/** The name of the channel, beside its id. */
function ChannelTitle({ appId, channelId }: { appId: string; channelId: string }) {
  const { data } = useData(() => api.inspect.channels({ appId, channelId }), { key: channelId })
  const channel = data?.channels[0]
  return (
    <>
      {channel && <h3>{titleOf(channel)}</h3>}
      {channel && <span className="badge">{channel.type}</span>}
      {channel?.frozen && <span className="badge">Frozen</span>}
      <span className="id">{channelId}</span>
    </>
  )
}

/** The ways in which a message differs from a plain one. */
function marksOf(message: Message) {
  const marks = {
    Reply: message.parentId !== null,
    Pinned: message.pinned,
    Edited: message.editedAt !== null,
    System: message.type === 'system',
    Silent: message.silent,
    Streaming: message.streaming,
    Interrupted: message.interrupted,
  }
  return Object.entries(marks).flatMap(([mark, applies]) => (applies ? [mark] : []))
}

const MessageRow = ({ message }: { message: Message }) => (
  <li>
    <header>
      <strong>{message.user.name}</strong>
      <span className="id">{message.user.id}</span>
      <span className="muted">
        <When iso={message.createdAt} isExact />
      </span>
      {marksOf(message).map((mark) => (
        <span key={mark} className="badge">
          {mark}
        </span>
      ))}
      <span className="id">
        #{message.seq} <span className="message-id">{message.id}</span>
      </span>
    </header>
    {message.deletedAt === null ? (
      <>
        {message.text !== '' && <p>{message.text}</p>}
        {message.attachments.map(({ url }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they never change places
          <p key={index} className="muted">
            Attached: <span className="id">{url}</span>
          </p>
        ))}
      </>
    ) : (
      <p className="muted">
        Deleted <When iso={message.deletedAt} isExact />
      </p>
    )}
  </li>
)
