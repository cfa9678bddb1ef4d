import type { Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'

/** Messages as they go on the wire, with authors, reactions, pins and reply counts, in one statement. */
export const selectMessages = (
  db: Tx,
  { viewer, which }: { viewer: string | Fragment | null; which: Fragment },
) => db<MessageView[]>`
  select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
    m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
    jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
    coalesce((
      select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
      from (
        select r.emoji, count(*), coalesce(bool_or(r.user_id = ${viewer}), false) as own, min(r.created_at) as first,
          jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
        from (
          select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
          from reactions where message_id = m.id
        ) r
        join users u on u.app_id = r.app_id and u.id = r.user_id
        group by r.emoji
      ) kind
    ), '[]') as reactions
  from messages m
  join users author on author.app_id = m.app_id and author.id = m.user_id
  left join pins p on p.message_id = m.id
  ${which}`

type MessageView = Omit<Message, 'linkPreviews' | 'pinned'> & {
  linkPreviews: Message['linkPreviews'] | null
  pinnedBy: string | null
  pinnedAt: string | null
}

export const toMessage = ({ pinnedBy, pinnedAt, linkPreviews, ...view }: MessageView): Message => ({
  ...view,
  pinned: pinnedBy !== null && pinnedAt !== null,
  ...(linkPreviews ? { linkPreviews } : {}),
})

/** The message as everybody may see it: whose reaction is their own, each client derives. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
