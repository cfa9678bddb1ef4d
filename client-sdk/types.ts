// Generated from the contract by generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
import type { CallOptions } from './call-options.ts'
import type { CustomUser } from './custom.ts'

/** Why the server refused. */
export type ErrorCode = 'VALIDATION_ERROR' | 'UNAUTHORIZED' | 'INVALID_TOKEN' | 'FORBIDDEN' | 'NOT_FOUND' | 'PAYLOAD_TOO_LARGE' | 'RATE_LIMITED' | 'INTERNAL_ERROR' | 'UNAVAILABLE'

/** Every operation, by noun. */
export interface Api {
  service: {
    /**
     * Answers 200 while the service can do its work, and 503 while the database is out of reach.
     *
     * `GET /health`
     */
    health(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** The service can do its work. */
      status: 'ok'
      /** Version of the server. */
      version: string
      /** What was looked at. */
      checks: {
        /** The database answered. */
        database: 'ok'
      }
    }>
    /**
     * Answers 200 as long as the process runs; touches nothing else.
     *
     * `GET /health/live`
     */
    live(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** The process runs. */
      status: 'ok'
      /** Version of the server. */
      version: string
    }>
  }
  apps: {
    /**
     * Every app with the ids of its API keys, oldest first. The keys themselves are not stored.
     *
     * `GET /admin/apps`
     */
    list(args?: {
      /** Page size; above 1000 means 1000. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
    }, options?: CallOptions): Promise<{
      /** Oldest first. */
      apps: {
        /** Id of the app (tenant). */
        id: string
        /** Name of the app. */
        name: string
        /** Oldest first. */
        keys: {
          /** Id of the API key. */
          id: string
          /** When the key was made. */
          createdAt: string
        }[]
        /** When the app was created. */
        createdAt: string
      }[]
    }>
    /**
     * Creates a tenant with its own users, channels and messages. The API key is shown this once; only its hash is kept.
     *
     * `POST /admin/apps`
     */
    create(args: {
      /** Name of the app. */
      name: string
    }, options?: CallOptions): Promise<{
      /** Id of the app (tenant). */
      id: string
      /** Name of the app. */
      name: string
      /** The server API key, for `X-API-Key`; shown this once. */
      apiKey: string
      /** Id of the API key. */
      keyId: string
      /** When the app was created. */
      createdAt: string
    }>
    /**
     * Makes a further API key of the app, shown this once. The others stay valid until they are deleted.
     *
     * `POST /admin/apps/{appId}/keys`
     */
    createKey(args: {
      /** Id of the app (tenant). */
      appId: string
    }, options?: CallOptions): Promise<{
      /** Id of the API key. */
      id: string
      /** When the key was made. */
      createdAt: string
      /** The server API key, for `X-API-Key`; shown this once. */
      apiKey: string
    }>
    /**
     * Deletes an API key. It is refused at once on the node that is asked, within 5 s on all others. User tokens stay valid.
     *
     * `DELETE /admin/apps/{appId}/keys/{keyId}`
     */
    deleteKey(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the API key. */
      keyId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
  tokens: {
    /**
     * Creates the user if need be, updates the profile fields that are given (absent keeps, `null` clears, `custom` is replaced whole) and mints a bearer token and a real-time token, both valid for 24 hours. For backends only.
     *
     * `POST /tokens`
     */
    create(args: {
      /** The user's id in your own system. */
      userId: string
      /** Display name. */
      name?: string | null | undefined
      /** E-mail address. */
      email?: string | null | undefined
      /** Avatar URL. */
      image?: string | null | undefined
      /** Your own metadata: at most 16 KB of JSON, nested at most 20 deep. */
      custom?: CustomUser & Record<string, unknown> | null | undefined
      /** Makes these tokens administer other users too (see USER_ADMIN_ACCESS). */
      admin?: boolean | undefined
    }, options?: CallOptions): Promise<TokenResult>
    /**
     * Ends every token of the user minted so far and closes his sockets: at once on the node that is asked, within 5 s on all others. For backends only.
     *
     * `POST /tokens/revoke`
     */
    revoke(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
  users: {
    /**
     * The users of the app, by name. `q` finds a part of the name in any case.
     *
     * `GET /api/users`
     */
    list(args?: {
      /** Page size; above 100 means 100. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
      /** Part of the name, in any case. */
      q?: string | undefined
    }, options?: CallOptions): Promise<{
      /** By name, then id. */
      users: User[]
    }>
    /**
     * One user with metadata. The e-mail address is shown to the user and to backends only.
     *
     * `GET /api/users/{userId}`
     */
    get(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<UserDetails>
    /**
     * Creates and updates up to 1,000 users at once (absent keeps, `null` clears, `custom` is replaced whole). Rows are judged one by one: `errors` tells which were refused and why. The last row of an id counts. Needs the right to administer users.
     *
     * `POST /api/users/sync`
     */
    sync(args: {
      /** At most 1,000. */
      users: UserRow[]
    }, options?: CallOptions): Promise<{
      /** Users created and updated. */
      synced: number
      /** Users that were new. */
      created: number
      /** Users that existed. */
      updated: number
      /** The refused rows. */
      errors: {
        /** The id of the refused row, as far as it has one. */
        id: string | null
        /** What is wrong with it. */
        message: string
      }[]
    }>
    /**
     * Absent fields keep their value, `null` clears, `custom` is replaced whole. The returned `custom` also carries the e-mail address. For oneself, or with the right to administer users.
     *
     * `PUT /api/users/{userId}`
     */
    put(args: {
      /** The user's id in your own system. */
      userId: string
      /** Display name. */
      name?: string | null | undefined
      /** E-mail address. */
      email?: string | null | undefined
      /** Avatar URL. */
      image?: string | null | undefined
      /** Your own metadata: at most 16 KB of JSON, nested at most 20 deep. */
      custom?: CustomUser & Record<string, unknown> | null | undefined
    }, options?: CallOptions): Promise<{
      /** The user's id in your own system. */
      id: string
      /** Display name; the id when none is set. */
      name: string
      /** Avatar URL. */
      image: string | null
      /** E-mail address. */
      email: string | null
      /** Your metadata, and `email` when it is set. */
      custom: CustomUser & Record<string, unknown>
    }>
    /**
     * Wipes profile, devices and preferences and ends all tokens at once; soon after the user has left all channels, and messages and reactions are gone. For oneself, or with the right to administer users.
     *
     * `DELETE /api/users/{userId}`
     */
    delete(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** Who was deleted. */
      deletedUserId: string
    }>
    /**
     * Deletes up to 1,000 users as DELETE does for one. Unknown ids are left out of `deleted`. Needs the right to administer users.
     *
     * `POST /api/users/bulk-delete`
     */
    bulkDelete(args: {
      /** Whom to delete; at most 1,000. */
      userIds: string[]
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** The users that existed, in the order asked. */
      deleted: string[]
      /** How many they are. */
      count: number
    }>
  }
  channels: {
    /**
     * Your channels, newest activity first, with unread counts and last messages. `discover=true` lists the channels you may join instead: public ones, and the team channels of your workspaces.
     *
     * `GET /api/channels`
     */
    list(args?: {
      /** Page size; above 100 means 100. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
      /** Only channels of this type. */
      type?: 'messaging' | 'group' | 'team' | 'livestream' | undefined
      /** List public channels that can be joined. */
      discover?: boolean | undefined
      /** Part of the name, in any case. */
      q?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest activity first. */
      channels: Channel[]
    }>
    /**
     * Creates a channel; the caller becomes its owner. `messaging` wants exactly one entry in `memberIds` and answers with the existing channel when the pair has one. All other types want a `name`.
     *
     * `POST /api/channels`
     */
    create(args: {
      /** Name of the channel. */
      name?: string | undefined
      /** messaging: two people. group, private: its members. team: a workspace. livestream, public: everyone. */
      type: 'messaging' | 'group' | 'team' | 'livestream' | 'public' | 'private'
      /** What the channel is about. */
      description?: string | undefined
      /** Image URL. */
      image?: string | undefined
      /** Further members. */
      memberIds?: string[] | undefined
      /** The workspace it belongs to. */
      workspaceId?: string | undefined
      /** Your own key for this create. A repeat with the same key answers with the first result instead of a second one. */
      clientId?: string | undefined
    }, options?: CallOptions): Promise<Channel>
    /**
     * One channel with its first 100 members.
     *
     * `GET /api/channels/{channelId}`
     */
    get(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Channel>
    /**
     * Changes name, image or description (`null` clears image and description). For owners and moderators; a direct message can not be edited.
     *
     * `PATCH /api/channels/{channelId}`
     */
    update(args: {
      /** Id of the channel. */
      channelId: string
      /** Name of the channel. */
      name?: string | undefined
      /** Image URL. */
      image?: string | null | undefined
      /** What the channel is about. */
      description?: string | null | undefined
    }, options?: CallOptions): Promise<Channel>
    /**
     * Deletes the channel and everything in it, for everybody. For its owner.
     *
     * `DELETE /api/channels/{channelId}`
     */
    delete(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
    /**
     * Your own settings of the channel; fields left out keep their value.
     *
     * `PATCH /api/channels/{channelId}/settings`
     */
    updateSettings(args: {
      /** Id of the channel. */
      channelId: string
      /** Keep it at hand. */
      starred?: boolean | undefined
      /** No notifications of new messages. */
      muted?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** Whether you starred it. */
      starred: boolean
      /** Whether you muted it. */
      muted: boolean
    }>
  }
  members: {
    /**
     * The members of a channel, in the order they joined.
     *
     * `GET /api/channels/{channelId}/members`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size; above 1000 means 1000. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: Member[]
    }>
    /**
     * Adds users; members stay as they are. In group and public channels any member may add, elsewhere owners and moderators; only an owner gives a role other than `member`. Not in direct messages.
     *
     * `POST /api/channels/{channelId}/members`
     */
    add(args: {
      /** Id of the channel. */
      channelId: string
      /** Whom to add. */
      userIds: string[]
      /** The role they get. */
      role?: 'owner' | 'moderator' | 'member' | undefined
    }, options?: CallOptions): Promise<{
      /** The users asked for, as members. */
      members: Member[]
      /** How many members the channel has now. */
      memberCount: number
    }>
    /**
     * Gives a member another role. For owners; the last owner can not step down.
     *
     * `PATCH /api/channels/{channelId}/members/{userId}`
     */
    update(args: {
      /** Id of the channel. */
      channelId: string
      /** The user's id in your own system. */
      userId: string
      /** Role in the channel. */
      role: 'owner' | 'moderator' | 'member'
    }, options?: CallOptions): Promise<Member>
    /**
     * An owner removes anyone, a moderator plain members, and everybody oneself. Not in direct messages.
     *
     * `DELETE /api/channels/{channelId}/members/{userId}`
     */
    remove(args: {
      /** Id of the channel. */
      channelId: string
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
    /**
     * Joins a public or livestream channel, or a team channel of your workspace. Joining again changes nothing.
     *
     * `POST /api/channels/{channelId}/join`
     */
    join(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Member>
    /**
     * Leaves the channel. The last owner hands over to the oldest moderator, else the oldest member. Not in direct messages.
     *
     * `POST /api/channels/{channelId}/leave`
     */
    leave(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
  messages: {
    /**
     * A page of messages in ascending order of `seq`: the newest, or with a cursor those before or after it. At most one of `before`, `after` and `since_seq`.
     *
     * `GET /api/channels/{channelId}/messages`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size; above 200 means 200. */
      limit?: number | undefined
      /** Answer with the messages just older than this one. */
      before?: string | undefined
      /** Answer with the messages just newer than this one. */
      after?: string | undefined
      /** Synchronise: the next messages with a greater seq, tombstones of deleted ones included; 0 starts at the first. */
      since_seq?: number | undefined
    }, options?: CallOptions): Promise<{
      /** Ascending by seq. */
      messages: Message[]
      /** Highest seq of the channel, 0 when nothing was ever sent. */
      maxSeq: number
      /** Whether there is more in the direction asked for. */
      hasMore: boolean
    }>
    /**
     * One message; a deleted one is not found.
     *
     * `GET /api/channels/{channelId}/messages/{messageId}`
     */
    get(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<Message>
    /**
     * A page of the thread below a message, in ascending order of `seq`: the newest, or with a cursor those before or after it.
     *
     * `GET /api/channels/{channelId}/messages/{messageId}/replies`
     */
    replies(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /** Page size; above 200 means 200. */
      limit?: number | undefined
      /** Answer with the replies just older than this one. */
      before?: string | undefined
      /** Answer with the replies just newer than this one. */
      after?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Ascending by seq. */
      messages: Message[]
      /** Whether there is more in the direction asked for. */
      hasMore: boolean
    }>
    /**
     * Appends a message to the channel. With a `clientId` a repeat after a lost answer gives the original message. A reply to a reply joins the thread of its root. In public and livestream channels the first message makes its author a member.
     *
     * `POST /api/channels/{channelId}/messages`
     */
    send(args: {
      /** Id of the channel. */
      channelId: string
      /** At most 10,000 characters; may be empty when there are attachments. `@name` mentions somebody. */
      text: string
      /** At most 30. */
      attachments?: Attachment[] | undefined
      /** The message this replies to. */
      parentId?: string | undefined
      /** Your own key for this create. A repeat with the same key answers with the first result instead of a second one. */
      clientId?: string | undefined
    }, options?: CallOptions): Promise<Message>
    /**
     * Replaces the text of a message of your own, at any time; mentions and link previews are worked out anew.
     *
     * `PATCH /api/channels/{channelId}/messages/{messageId}`
     */
    edit(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /** At most 10,000 characters; may be empty when there are attachments. `@name` mentions somebody. */
      text: string
    }, options?: CallOptions): Promise<Message>
    /**
     * Deletes a message of your own within 15 minutes of sending it; with an API key any message at any age. Its seq stays taken.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}`
     */
    delete(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** Id of the message. */
      messageId: string
      /** When it was deleted. */
      deletedAt: string
    }>
  }
  reactions: {
    /**
     * Adds your reaction. Adding it again changes nothing. A message carries at most 50 kinds.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/reactions`
     */
    add(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /** The emoji. */
      emoji: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** All reactions to the message after the change. */
      reactions: Reaction[]
    }>
    /**
     * Removes your reaction. Removing what is not there changes nothing.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}`
     */
    remove(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /** The emoji. */
      emoji: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** All reactions to the message after the change. */
      reactions: Reaction[]
    }>
  }
  pins: {
    /**
     * Any member may pin; pinning again changes nothing. A channel holds at most 100 pins.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/pin`
     */
    pin(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
    /**
     * Any member may unpin; unpinning what is not pinned changes nothing.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}/pin`
     */
    unpin(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
    /**
     * The pinned messages of a channel, the newest pin first.
     *
     * `GET /api/channels/{channelId}/pins`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<{
      /** The newest pin first. */
      messages: PinnedMessage[]
    }>
  }
  reads: {
    /**
     * Sets the unread count of the channel to 0 for the caller. Without `messageId` everything up to now counts as read; with it the read position moves to that message, never back.
     *
     * `POST /api/channels/{channelId}/read`
     */
    mark(args: {
      /** Id of the channel. */
      channelId: string
      /** The last message seen. */
      messageId?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** Seq of the caller's read position. */
      lastReadSeq: number
    }>
    /**
     * Unread messages over all channels of the caller, muted ones included.
     *
     * `GET /api/channels/unread-count`
     */
    unreadCount(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** Total unread. */
      count: number
    }>
  }
  receipts: {
    /**
     * Everything up to that message counts as read, what follows it as unread. The read position never moves back.
     *
     * `POST /api/channels/{channelId}/receipts`
     */
    mark(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
      /** The message at the read position now. */
      lastReadMessageId: string
    }>
    /**
     * Who has read a message, and when; its author is not counted. `readCount` is exact, `readBy` holds at most 100.
     *
     * `GET /api/channels/{channelId}/receipts/messages/{messageId}/receipts`
     */
    get(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** In the order they read; at most 100. */
      readBy: Reader[]
      /** How many members have read it, the author not counted. */
      readCount: number
      /** How many members the channel has. */
      totalMembers: number
    }>
    /**
     * Receipts of up to 200 messages by message id. Unknown ones, and those of other channels, are left out.
     *
     * `POST /api/channels/{channelId}/receipts/query`
     */
    query(args: {
      /** Id of the channel. */
      channelId: string
      /** At most 200. */
      messageIds: string[]
    }, options?: CallOptions): Promise<{
      /** By message id. */
      receipts: Record<string, {
          /** How many members have read it, the author not counted. */
          readCount: number
          /** In the order they read; at most 100. */
          readers: Reader[]
        }>
    }>
    /**
     * The read position of each member, in the order they joined.
     *
     * `GET /api/channels/{channelId}/receipts/read-status`
     */
    status(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size; above 1000 means 1000. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: ReadStatus[]
    }>
  }
  sync: {
    /**
     * For each channel and the `rev` you know of it: the messages changed since, and the channel as it is now. An answer holds at most 2,000 messages; `more` says that there are more to ask for.
     *
     * `POST /api/sync`
     */
    pull(args: {
      /** The rev you know, by channel id; 0 for nothing. At most 200. */
      channels: Record<string, number>
    }, options?: CallOptions): Promise<{
      /** By channel id: an entry for each channel asked for. */
      channels: Record<string, ChannelChanges>
      /** Whether any channel has more to ask for. */
      more: boolean
    }>
  }
  workspaces: {
    /**
     * The workspaces you belong to, in the order you joined them.
     *
     * `GET /api/workspaces`
     */
    list(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** In the order of joining. */
      workspaces: Workspace[]
    }>
    /**
     * Creates a workspace; you become its owner.
     *
     * `POST /api/workspaces`
     */
    create(args: {
      /** Name of the workspace. */
      name: string
      /** A word of your own for its kind. */
      type: string
      /** Image URL. */
      image?: string | undefined
    }, options?: CallOptions): Promise<Workspace>
    /**
     * The members of a workspace of yours, in the order they joined.
     *
     * `GET /api/workspaces/{workspaceId}/members`
     */
    members(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** Page size; above 1000 means 1000. */
      limit?: number | undefined
      /** How many entries to skip. */
      offset?: number | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: WorkspaceMember[]
    }>
    /**
     * An owner removes anyone, an admin plain members, and everybody oneself. The last owner hands over to the oldest admin, else the oldest member. Who is gone no longer reads the team channels he was not a member of.
     *
     * `DELETE /api/workspaces/{workspaceId}/members/{userId}`
     */
    removeMember(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
  invites: {
    /**
     * Makes an invite link, shown this once. For owners and admins; the role given is at most their own.
     *
     * `POST /api/workspaces/{workspaceId}/invite`
     */
    create(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** How many users may join with it; unlimited when left out. */
      maxUses?: number | null | undefined
      /** How long it is valid. */
      expiresInDays?: number | undefined
      /** The role that comes with it. */
      role?: 'owner' | 'admin' | 'member' | undefined
    }, options?: CallOptions): Promise<{
      /** The invitation; whoever has it may join. */
      token: string
      /** Address to hand out: a page of your application (INVITE_URL), which accepts with the token. */
      inviteUrl: string
      /** When it ceases to be valid. */
      expiresAt: string
    }>
    /**
     * Makes you a member of the workspace. Each user counts once against the limit of the invite; a member stays as he is.
     *
     * `POST /api/invites/{token}/accept`
     */
    accept(args: {
      /** The token of the invite. */
      token: string
    }, options?: CallOptions): Promise<{
      workspace: Workspace
    }>
  }
  devices: {
    /**
     * Registers a device for push notifications. The same token, or the same `deviceId` of yours, is updated; a token that was somebody else’s becomes yours. At most 25 devices a user.
     *
     * `POST /api/devices`
     */
    create(args: {
      /** What runs the app. */
      platform: 'ios' | 'android' | 'relay'
      /** Push token from the device. */
      token: string
      /** Who delivers the push: fcm (Android), apns (iOS), relay (cross-platform mobile). */
      provider: 'fcm' | 'apns' | 'relay'
      /** Unique device identifier. */
      deviceId?: string | undefined
      /** App version, for targeting. */
      appVersion?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Id of the device. */
      id: string
      /** What runs the app. */
      platform: 'ios' | 'android' | 'relay'
      /** Who delivers the push: fcm (Android), apns (iOS), relay (cross-platform mobile). */
      provider: 'fcm' | 'apns' | 'relay'
      /** When it was first registered. */
      createdAt: string
    }>
    /**
     * Forgets one of your devices, by the `id` of its registration or by its `deviceId`.
     *
     * `DELETE /api/devices/{deviceId}`
     */
    delete(args: {
      /** The `id` or the `deviceId`. */
      deviceId: string
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
  preferences: {
    /**
     * Your notification preferences, defaults filled in, and those kept by the push provider.
     *
     * `GET /api/devices/preferences`
     */
    get(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** Your preferences, defaults filled in. */
      preferences: Preferences
      /** As the push provider keeps them; empty without one. */
      providerPreferences: {
        /** By channel of delivery. */
        channels: unknown[]
        /** By kind of notification. */
        workflows: unknown[]
      }
    }>
    /**
     * Changes the preferences given and keeps the others. Unknown names are refused.
     *
     * `PATCH /api/devices/preferences`
     */
    update(args?: PreferencesPatch, options?: CallOptions): Promise<{
      /** Your preferences, defaults filled in. */
      preferences: Preferences
    }>
  }
  typing: {
    /**
     * Sends `typing.start` to the channel, or `typing.stop` with `typing: false`. Without another call `typing.stop` follows by itself after 6 seconds. Nothing is stored.
     *
     * `POST /api/channels/{channelId}/typing`
     */
    set(args: {
      /** Id of the channel. */
      channelId: string
      /** False when you stopped. */
      typing?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** Always true; a refusal is an error answer. */
      success: boolean
    }>
  }
}

/** The operations of a user. */
export interface UserApi {
  service: Api['service']
  users: Api['users']
  channels: Api['channels']
  members: Api['members']
  messages: Api['messages']
  reactions: Api['reactions']
  pins: Api['pins']
  reads: Api['reads']
  receipts: Api['receipts']
  sync: Api['sync']
  workspaces: Api['workspaces']
  invites: Api['invites']
  devices: Api['devices']
  preferences: Api['preferences']
  typing: Api['typing']
}

/** The operations of a customer's backend. */
export interface ServerApi {
  service: Api['service']
  tokens: Api['tokens']
  users: Api['users']
  messages: Pick<Api['messages'], 'delete'>
}

/** What is published to a channel. */
export interface ChannelEvents {
  /** A message was sent. */
  'message.new': {
    /** Id of the channel. */
    channelId: string
    message: Message
    /** For a reply: the root of its thread, whose `rev` becomes that of this event. */
    parent?: {
      /** Id of the message. */
      id: string
      /** Its live replies now. */
      replyCount: number
    } | undefined
  }
  /** A message was edited, pinned or unpinned, or its link previews are ready. */
  'message.updated': {
    /** Id of the channel. */
    channelId: string
    message: Message
  }
  /** A message was deleted. */
  'message.deleted': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** Its place in the channel, which stays taken. */
    seq: number
    /** When it was deleted. */
    deletedAt: string
    /** For a reply: the root of its thread, whose `rev` becomes that of this event. */
    parent?: {
      /** Id of the message. */
      id: string
      /** Its live replies now. */
      replyCount: number
    } | undefined
  }
  /** A user reacted to a message. */
  'reaction.added': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** What was added or taken back, and by whom. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** Who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
  }
  /** A user took a reaction back. */
  'reaction.removed': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** What was added or taken back, and by whom. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** Who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
  }
  /** A user became a member. */
  'channel.member_joined': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    /** Role in the channel. */
    role: 'owner' | 'moderator' | 'member'
    /** How many members the channel has now. */
    memberCount: number
  }
  /** A user ceased to be a member; ends his subscription. */
  'channel.member_left': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    /** Role in the channel. */
    role: 'owner' | 'moderator' | 'member'
    /** How many members the channel has now. */
    memberCount: number
  }
  /** A member has another role. */
  'channel.member_updated': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    /** Role in the channel. */
    role: 'owner' | 'moderator' | 'member'
    /** How many members the channel has now. */
    memberCount: number
  }
  /** Name, image or description changed. */
  'channel.updated': {
    /** Id of the channel. */
    channelId: string
    channel: ChannelProfile
  }
  /** The channel was deleted; ends every subscription. */
  'channel.deleted': {
    /** Id of the channel. */
    channelId: string
  }
  /** A user types; `typing.stop` follows within 6 seconds of the last one. */
  'typing.start': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** Who types. */
    user: UserSummary
  }
  /** A user stopped typing. */
  'typing.stop': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** Who types. */
    user: UserSummary
  }
  /** A user's read position, sent with every POST read and POST receipts. */
  'read.updated': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** Seq of the user's read position; 0 when nothing was read. */
    lastReadSeq: number
    /** The message at that seq. */
    lastReadMessageId: string | null
    /** When the position was reached. */
    readAt: string
  }
  /** A user read a specific message. */
  'read_receipt': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The user's id in your own system. */
    userId: string
    /** Display name; the id when none is set. */
    name: string
    /** Avatar URL. */
    image: string | null
    /** When the message was read. */
    readAt: string
  }
}

/** What is published to a user. */
export interface UserEvents {
  /** The user became a member of a channel. */
  'channel.added': {
    /** The channel as the user sees it. */
    channel: {
      /** Id of the channel. */
      id: string
      /** Composite identifier `<type>:<slug>`. */
      cid: string
      /** Name of the channel; in a direct message the other member's name. */
      name: string
      /** messaging: two people. group, private: its members. team: a workspace. livestream, public: everyone. */
      type: 'messaging' | 'group' | 'team' | 'livestream' | 'public' | 'private'
      /** Image URL. */
      image: string | null
      /** What the channel is about. */
      description: string | null
      /** The workspace it belongs to. */
      workspaceId: string | null
      /** Who created it. */
      createdBy: string
      /** How many members it has. */
      memberCount: number
      /** Unread messages for the caller. */
      unreadCount: number
      /** Seq of the caller's read position; 0 when nothing was read. */
      lastReadSeq: number
      /** The caller's role; null when not a member. */
      role: 'owner' | 'moderator' | 'member' | null
      /** Whether the caller starred it. */
      starred: boolean
      /** Whether the caller muted it. */
      muted: boolean
      /** Counts every durable change of the channel. */
      rev: number
      /** The first 100 members: in a single channel, and of direct messages in listings. */
      members?: Member[] | undefined
      /** When it was created. */
      createdAt: string
      /** When its name, image or description last changed. */
      updatedAt: string
    }
  }
  /** The user ceased to be a member of a channel. */
  'channel.removed': {
    /** Id of the channel. */
    channelId: string
  }
  /** The user ceased to be a member of a workspace. */
  'workspace.removed': {
    /** Id of the workspace. */
    workspaceId: string
  }
  /** The user starred or muted a channel, for his other devices. */
  'channel.settings_changed': {
    /** Id of the channel. */
    channelId: string
    /** Whether the user starred it. */
    starred: boolean
    /** Whether the user muted it. */
    muted: boolean
  }
  /** The unread count of a channel, absolute. */
  'channel.unread_changed': {
    /** Id of the channel. */
    channelId: string
    /** Unread messages in the channel now. */
    count: number
  }
  /** The unread count over all channels, absolute. */
  'channel.total_unread_changed': {
    /** Unread messages over all channels now. */
    count: number
  }
  /** Copy of the channel's own event, for members who have not subscribed to it. */
  'channel.updated': {
    /** Id of the channel. */
    channelId: string
    channel: ChannelProfile
  }
  /** Copy of the channel's own event, for members who have not subscribed to it. */
  'channel.deleted': {
    /** Id of the channel. */
    channelId: string
  }
  /** Somebody the user shares a channel with has a new name or image. */
  'user.updated': {
    user: UserSummary
  }
  /** The user, or somebody he shares a small channel with, came online. */
  'presence.online': {
    /** The user's id in your own system. */
    userId: string
    /** When the user was last active. */
    lastActiveAt: string | null
  }
  /** The same user went offline: no connection for 15 seconds. */
  'presence.offline': {
    /** The user's id in your own system. */
    userId: string
    /** When the user was last active. */
    lastActiveAt: string | null
  }
}

/** A file or medium attached to a message. */
export interface Attachment {
  /** `image`, `video`, `audio`, `file`, or another word of your own. */
  type: string
  /** Where it can be fetched. */
  url: string
  /** File name or caption. */
  name?: string | undefined
}

/** A channel as its reader sees it. */
export interface Channel {
  /** Id of the channel. */
  id: string
  /** Composite identifier `<type>:<slug>`. */
  cid: string
  /** Name of the channel; in a direct message the other member's name. */
  name: string
  /** messaging: two people. group, private: its members. team: a workspace. livestream, public: everyone. */
  type: 'messaging' | 'group' | 'team' | 'livestream' | 'public' | 'private'
  /** Image URL. */
  image: string | null
  /** What the channel is about. */
  description: string | null
  /** The workspace it belongs to. */
  workspaceId: string | null
  /** Who created it. */
  createdBy: string
  /** How many members it has. */
  memberCount: number
  /** Unread messages for the caller. */
  unreadCount: number
  /** The newest message. */
  lastMessage: Message | null
  /** Seq of the caller's read position; 0 when nothing was read. */
  lastReadSeq: number
  /** The caller's role; null when not a member. */
  role: 'owner' | 'moderator' | 'member' | null
  /** Whether the caller starred it. */
  starred: boolean
  /** Whether the caller muted it. */
  muted: boolean
  /** Counts every durable change of the channel. */
  rev: number
  /** The first 100 members: in a single channel, and of direct messages in listings. */
  members?: Member[] | undefined
  /** When it was created. */
  createdAt: string
  /** When its name, image or description last changed. */
  updatedAt: string
}

/** What became of a channel since a rev. */
export interface ChannelChanges {
  /** The channel is gone, or the caller is no longer a member. Nothing else is told. */
  removed?: true | undefined
  /** Too many changes: load the channel anew; `messages` is empty. */
  resync?: true | undefined
  /** There are more changes: ask again from `rev`. */
  more?: true | undefined
  /** What is told goes up to here: ask from this the next time. */
  rev?: number | undefined
  /** The channel now, with membership and read state of the caller. */
  channel?: Channel | undefined
  /** Messages changed since, tombstones of deleted ones included, ascending by rev. */
  messages?: Message[] | undefined
}

/** What a channel is called and looks like, the same for everybody. */
export interface ChannelProfile {
  /** Id of the channel. */
  id: string
  /** Composite identifier `<type>:<slug>`. */
  cid: string
  /** Name of the channel; in a direct message the other member's name. */
  name: string
  /** messaging: two people. group, private: its members. team: a workspace. livestream, public: everyone. */
  type: 'messaging' | 'group' | 'team' | 'livestream' | 'public' | 'private'
  /** Image URL. */
  image: string | null
  /** What the channel is about. */
  description: string | null
  /** The workspace it belongs to. */
  workspaceId: string | null
  /** When its name, image or description last changed. */
  updatedAt: string
}

/** What a URL in the text leads to. */
export interface LinkPreview {
  /** The URL as in the text. */
  url: string
  /** Title of the page. */
  title: string | null
  /** Summary of the page. */
  description: string | null
  /** Preview image URL. */
  image: string | null
  /** Name of the site. */
  siteName: string | null
  /** Kind of page. */
  type: 'website' | 'video' | 'article'
  /** Id at the video site. */
  videoId?: string | undefined
  /** Embeddable video URL. */
  embedUrl?: string | undefined
  /** Channel of a video. */
  authorName?: string | undefined
}

/** A user in a channel. */
export interface Member {
  /** The user's id in your own system. */
  userId: string
  user: UserSummary
  /** Role in the channel. */
  role: 'owner' | 'moderator' | 'member'
  /** When the user joined. */
  joinedAt: string
}

/** A message, in answers and in events alike. */
export interface Message {
  /** Id of the message. */
  id: string
  /** Id of the channel. */
  channelId: string
  /** The author. */
  userId: string
  /** May contain @mentions; empty once deleted. */
  text: string
  /** Place of the message in its channel: 1, 2, 3 … without a gap. */
  seq: number
  /** The channel's revision at the message's last change. */
  rev: number
  /** The author. */
  user: UserSummary
  /** Oldest kind first. */
  reactions: Reaction[]
  /** Names mentioned in the text, without @, in order. */
  mentions: string[]
  /** As sent. */
  attachments: Attachment[]
  /** Present after background processing. */
  linkPreviews?: LinkPreview[] | undefined
  /** Root message of the thread this is a reply in. */
  parentId: string | null
  /** Live replies in the thread of this message. */
  replyCount: number
  /** Whether the message is pinned. */
  pinned: boolean
  /** The sender's own key for this message. */
  clientId: string | null
  /** When it was sent. */
  createdAt: string
  /** When its content last changed. */
  updatedAt: string
  /** When its author last edited the text. */
  editedAt: string | null
  /** Set on the tombstone of a deleted message. */
  deletedAt: string | null
}

/** A pinned message. */
export interface PinnedMessage {
  /** Id of the message. */
  id: string
  /** Id of the channel. */
  channelId: string
  /** The author. */
  userId: string
  /** May contain @mentions; empty once deleted. */
  text: string
  /** Place of the message in its channel: 1, 2, 3 … without a gap. */
  seq: number
  /** The channel's revision at the message's last change. */
  rev: number
  /** The author. */
  user: UserSummary
  /** Oldest kind first. */
  reactions: Reaction[]
  /** Names mentioned in the text, without @, in order. */
  mentions: string[]
  /** As sent. */
  attachments: Attachment[]
  /** Present after background processing. */
  linkPreviews?: LinkPreview[] | undefined
  /** Root message of the thread this is a reply in. */
  parentId: string | null
  /** Live replies in the thread of this message. */
  replyCount: number
  /** Whether the message is pinned. */
  pinned: boolean
  /** The sender's own key for this message. */
  clientId: string | null
  /** When it was sent. */
  createdAt: string
  /** When its content last changed. */
  updatedAt: string
  /** When its author last edited the text. */
  editedAt: string | null
  /** Set on the tombstone of a deleted message. */
  deletedAt: string | null
  /** Who pinned it. */
  pinnedBy: string
  /** When it was pinned. */
  pinnedAt: string
}

/** What a user wants to be notified of. */
export interface Preferences {
  /** Any push at all. */
  pushEnabled: boolean
  /** New messages in channels that are not muted. */
  newMessages: boolean
  /** Being mentioned. */
  mentions: boolean
  /** Reactions to own messages. */
  reactions: boolean
  /** Being added to a channel. */
  channelInvites: boolean
  /** Replies in threads one takes part in. */
  threadReplies: boolean
  /** Whether pushes are dropped during quiet hours. */
  quietHoursEnabled: boolean
  /** First minute of the quiet hours. */
  quietHoursStart: string
  /** First minute after the quiet hours. */
  quietHoursEnd: string
  /** IANA time zone of the quiet hours. */
  timezone: string
}

/** Any subset of the preferences. */
export interface PreferencesPatch {
  /** Any push at all. */
  pushEnabled?: boolean | undefined
  /** New messages in channels that are not muted. */
  newMessages?: boolean | undefined
  /** Being mentioned. */
  mentions?: boolean | undefined
  /** Reactions to own messages. */
  reactions?: boolean | undefined
  /** Being added to a channel. */
  channelInvites?: boolean | undefined
  /** Replies in threads one takes part in. */
  threadReplies?: boolean | undefined
  /** Whether pushes are dropped during quiet hours. */
  quietHoursEnabled?: boolean | undefined
  /** First minute of the quiet hours. */
  quietHoursStart?: string | undefined
  /** First minute after the quiet hours. */
  quietHoursEnd?: string | undefined
  /** IANA time zone of the quiet hours. */
  timezone?: string | undefined
}

/** One emoji on a message and who put it there. */
export interface Reaction {
  /** The emoji. */
  type: string
  /** How many users reacted with it. */
  count: number
  /** Whether the caller is one of them; false in events. */
  own: boolean
  /** The first ten of them. */
  users: UserSummary[]
}

/** Who has read a message, and when. */
export interface Reader {
  /** The user's id in your own system. */
  userId: string
  /** Display name; the id when none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** When the read position passed the message. */
  readAt: string
}

/** How far a member has read. */
export interface ReadStatus {
  /** The user's id in your own system. */
  userId: string
  /** Display name; the id when none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** The message at the read position; null when nothing was read. */
  lastReadMessageId: string | null
  /** Seq of the read position; 0 when nothing was read. */
  lastReadSeq: number
}

/** What a front end needs to chat as one user. */
export interface TokenResult {
  /** Bearer token for the user API. */
  token: string
  /** Token for the real-time connection. */
  wsToken: string
  /** The user the tokens are for. */
  user: {
    /** The user's id in your own system. */
    id: string
    /** Display name; the id when none is set. */
    name: string
    /** Avatar URL. */
    image: string | null
    /** Present when it is known. */
    email?: string | undefined
  }
  /** Validity of both tokens in seconds. */
  expiresIn: number
  /** Id of the app (tenant). */
  appId: string
  /** Address of the real-time endpoint. */
  wsUrl: string
}

/** A user in listings. */
export interface User {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id when none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** When the user last got a token, sent, read or was connected; exact to a minute. */
  lastActiveAt: string | null
  /** Whether the user is connected. */
  online: boolean
}

/** A user with metadata. */
export interface UserDetails {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id when none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** When the user last got a token, sent, read or was connected; exact to a minute. */
  lastActiveAt: string | null
  /** Whether the user is connected. */
  online: boolean
  /** Metadata of the customer. */
  custom: CustomUser & Record<string, unknown>
  /** E-mail address: only for the user and for backends. */
  email?: string | null | undefined
}

/** One user of a synchronisation. */
export interface UserRow {
  /** The user's id in your own system. */
  id: string
  /** Display name. */
  name?: string | null | undefined
  /** E-mail address. */
  email?: string | null | undefined
  /** Avatar URL. */
  image?: string | null | undefined
  /** Your own metadata: at most 16 KB of JSON, nested at most 20 deep. */
  custom?: CustomUser & Record<string, unknown> | null | undefined
}

/** A user as shown beside what they wrote or did. */
export interface UserSummary {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id when none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
}

/** A workspace as one of its members sees it. */
export interface Workspace {
  /** Id of the workspace. */
  id: string
  /** Name of the workspace. */
  name: string
  /** A word of your own for its kind. */
  type: string
  /** Image URL. */
  image: string | null
  /** How many members it has. */
  memberCount: number
  /** How many channels belong to it. */
  channelCount: number
  /** The caller's role. */
  role: 'owner' | 'admin' | 'member'
  /** Whether it is the first one the caller belonged to. */
  isDefault: boolean
  /** When it was created. */
  createdAt: string
  /** When it last changed. */
  updatedAt: string
}

/** A user in a workspace. */
export interface WorkspaceMember {
  /** The user's id in your own system. */
  userId: string
  user: UserSummary
  /** Role in the workspace. */
  role: 'owner' | 'admin' | 'member'
  /** When the user joined. */
  joinedAt: string
}
