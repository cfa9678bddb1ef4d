// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
import type { CallOptions } from '../calls/call-options.ts'
import type {
  CustomAttachment,
  CustomChange,
  CustomChannel,
  CustomMember,
  CustomMessage,
  CustomUser,
} from '../custom.ts'

/** Every operation, by noun. */
export interface Api {
  service: {
    /**
     * Returns 200 while the service can work, and 503 while the database is down, sockets are
     * refused, or the server is about to stop: the message of the error says which.
     *
     * `GET /health`
     */
    health(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** The service can work. */
      status: 'ok'
      /** Version of the server. */
      version: string
      /** What was checked. */
      checks: {
        /** The database responded. */
        database: 'ok'
        /**
         * Only while the disk of the database is full: reads are served, and writes are refused. It
         * is shown until none was refused for a minute.
         */
        disk?: 'full' | undefined
        /**
         * Only with JOBS=external. `missing`: no worker has run for a minute, so there are no
         * previews, pushes or webhooks, and no cleanup.
         */
        workers?: 'ok' | 'missing' | undefined
        /**
         * Only with REDIS_URL. `unreachable`: events of other servers arrive some seconds later,
         * and typing and the like are not passed on.
         */
        redis?: 'ok' | 'unreachable' | undefined
      }
    }>
    /**
     * Returns 200 while the process runs. Checks nothing else.
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
     * Lists every app with its API keys, oldest first. The keys themselves are not stored. A page
     * may end after 1 MB.
     *
     * `GET /admin/apps`
     */
    list(args?: {
      /** Page size. Above 1,000 means 1,000. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Oldest first. */
      apps: App[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Creates a tenant with its own users, channels and messages. The API key, which is named
     * "First key", is shown only in this response: the server stores a hash of it.
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
      /** The API key for the `X-API-Key` header. Shown only in this response. */
      apiKey: string
      /** Id of the API key. */
      keyId: string
      /** When the app was created. */
      createdAt: string
    }>
    /**
     * Returns one app with its settings and API keys.
     *
     * `GET /admin/apps/{appId}`
     */
    get(args: {
      /** Id of the app (tenant). */
      appId: string
    }, options?: CallOptions): Promise<App>
    /**
     * Changes the fields that are given; unknown names are an error. While an app is disabled, its
     * sockets are closed and all calls of its keys and users are refused with APP_DISABLED, on
     * every server at once; one that misses the notification follows within 5 seconds. Nothing is
     * lost: once it is enabled again, the same keys and tokens work.
     *
     * `PATCH /admin/apps/{appId}`
     */
    update(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Name of the app. */
      name?: string | undefined
      /** Whether its keys, tokens and sockets work. */
      enabled?: boolean | undefined
      /** The settings to change; null returns one to what the server has. */
      settings?: {
        /**
         * After how many days a job deletes messages, as if their authors had: tombstones stay.
         * Null: they are kept.
         */
        messageRetentionDays?: number | null | undefined
        /**
         * Who may administer users by a bearer token: every user (`bearer`), or only holders of an
         * admin token (`server`). Null: as USER_ADMIN_ACCESS says.
         */
        userAdminAccess?: UserAdminAccess | null | undefined
        /** The limits to change. */
        rateLimits?: {
          /**
           * Tokens that a key and address may mint a minute; 0: no limit; null: that of the server
           * (RATE_LIMIT_TOKENS).
           */
          tokens?: number | null | undefined
          /**
           * Messages of a user a minute; 0: no limit; null: that of the server
           * (RATE_LIMIT_MESSAGES).
           */
          messages?: number | null | undefined
          /**
           * Other calls of a user or key a minute; 0: no limit; null: that of the server
           * (RATE_LIMIT_REQUESTS).
           */
          requests?: number | null | undefined
          /**
           * Appends of a user to streamed messages a minute; 0: no limit; null: that of the server
           * (RATE_LIMIT_APPENDS).
           */
          appends?: number | null | undefined
          /**
           * Calls of the whole app a minute; 0: no limit; null: that of the server
           * (RATE_LIMIT_APP_REQUESTS).
           */
          appRequests?: number | null | undefined
        } | undefined
      } | undefined
    }, options?: CallOptions): Promise<App>
    /**
     * Deletes an app for good. Its keys, tokens and sockets end at once; a background job then
     * deletes everything that it has, in small steps, and notes in the audit log when it is done.
     *
     * `DELETE /admin/apps/{appId}`
     */
    delete(args: {
      /** Id of the app (tenant). */
      appId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Counts what an app has, at a low cost whatever its size: large counts and the storage are
     * estimates. Active users are counted once a day each.
     *
     * `GET /admin/apps/{appId}/usage`
     */
    usage(args: {
      /** Id of the app (tenant). */
      appId: string
      /** For how many days, today included. */
      days?: number | undefined
    }, options?: CallOptions): Promise<{
      /** Users who are not deleted. Exact up to 10,000. */
      users: {
        /** How many. */
        count: number
        /** False: an estimate from the statistics of the database. */
        isExact: boolean
      }
      /** Channels that are not deleted. Exact up to 10,000. */
      channels: {
        /** How many. */
        count: number
        /** False: an estimate from the statistics of the database. */
        isExact: boolean
      }
      /** Messages sent to these channels, deleted ones included. Exact up to 10,000. */
      messages: {
        /** How many. */
        count: number
        /** False: an estimate from the statistics of the database. */
        isExact: boolean
      }
      /** Users who are connected now, once for each server. Exact up to 10,000. */
      connectedUsers: {
        /** How many. */
        count: number
        /** False: an estimate from the statistics of the database. */
        isExact: boolean
      }
      /**
       * About how many bytes of the largest tables and their indexes are its, without the events of
       * the last day: an estimate by its share of the rows; null while the database has no
       * statistics.
       */
      storageBytes: number | null
      /** The newest day first; days without any are left out. */
      activeUsers: {
        /** In UTC. */
        day: string
        /** Users who were active. */
        users: number
      }[]
    }>
    /**
     * Lists the API keys of an app, at most 100; the keys themselves are not stored.
     *
     * `GET /admin/apps/{appId}/keys`
     */
    listKeys(args: {
      /** Id of the app (tenant). */
      appId: string
    }, options?: CallOptions): Promise<{
      /** Oldest first. */
      keys: ApiKey[]
    }>
    /**
     * Creates another API key for the app, shown only in this response. The existing keys stay
     * valid until they expire or are deleted. An app has at most 100. A time of expiry that is over
     * is refused with VALIDATION_ERROR, and so are unknown names.
     *
     * `POST /admin/apps/{appId}/keys`
     */
    createKey(args: {
      /** Id of the app (tenant). */
      appId: string
      /** What the key is for. */
      name?: string | null | undefined
      /**
       * What the key may do. `full`: everything. `read`: operations that only read (GET), for the
       * backend itself and not as a user; the export of a user needs `full`. `mint`: `POST
       * /tokens`, without `admin`. Other calls are refused with FORBIDDEN.
       */
      scopes?: KeyScope[] | undefined
      /** From when it is refused; null: it does not expire. */
      expiresAt?: string | null | undefined
    }, options?: CallOptions): Promise<{
      /** Id of the API key. */
      id: string
      /** What the key is for. */
      name: string | null
      /**
       * What the key may do. `full`: everything. `read`: operations that only read (GET), for the
       * backend itself and not as a user; the export of a user needs `full`. `mint`: `POST
       * /tokens`, without `admin`. Other calls are refused with FORBIDDEN.
       */
      scopes: KeyScope[]
      /** When the key was created. */
      createdAt: string
      /** When it was last used, accurate to about a minute; null: not yet. */
      lastUsedAt: string | null
      /** From when it is refused; null: it does not expire. */
      expiresAt: string | null
      /** The API key for the `X-API-Key` header. Shown only in this response. */
      apiKey: string
    }>
    /**
     * Changes the fields that are given; unknown names are an error. The server that handles this
     * call applies them at once, and so do the others, or within 5 seconds if they miss the
     * notification.
     *
     * `PATCH /admin/apps/{appId}/keys/{keyId}`
     */
    updateKey(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the API key. */
      keyId: string
      /** What the key is for. */
      name?: string | null | undefined
      /**
       * What the key may do. `full`: everything. `read`: operations that only read (GET), for the
       * backend itself and not as a user; the export of a user needs `full`. `mint`: `POST
       * /tokens`, without `admin`. Other calls are refused with FORBIDDEN.
       */
      scopes?: KeyScope[] | undefined
      /** From when it is refused; null: it does not expire. */
      expiresAt?: string | null | undefined
    }, options?: CallOptions): Promise<ApiKey>
    /**
     * Deletes an API key. The server that handles this call rejects the key at once, the others
     * within 5 seconds. User tokens stay valid.
     *
     * `DELETE /admin/apps/{appId}/keys/{keyId}`
     */
    deleteKey(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the API key. */
      keyId: string
    }, options?: CallOptions): Promise<Success>
  }
  inspect: {
    /**
     * Lists users by name. `q` matches a part of the name, in lower or upper case; `userId` finds
     * the user with exactly this id. Give one of the two.
     *
     * `GET /admin/apps/{appId}/users`
     */
    users(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Part of the name, case-insensitive. */
      q?: string | undefined
      /** Only the user with this id. */
      userId?: string | undefined
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** By name, then id. */
      users: User[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Returns the preferences and the devices of a user, which decide with the muted channels what
     * is pushed to them. Push tokens are left out.
     *
     * `GET /admin/apps/{appId}/users/{userId}/notifications`
     */
    notifications(args: {
      /** Id of the app (tenant). */
      appId: string
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Including the defaults of those that the user never changed. */
      preferences: Preferences
      /** Without one, nothing is pushed. Oldest first. */
      devices: {
        /** Id of the device. */
        id: string
        platform: DevicePlatform
        provider: DeviceProvider
        /** When it was first registered. */
        createdAt: string
      }[]
    }>
    /**
     * Lists channels of every type, the newest first. `q` finds them by a part of their name: first
     * public channels and livestreams, then all others. One call looks at 1,000 of the others, so a
     * page may have few channels, or none, and a `nextCursor` all the same. `userId` finds those
     * that a user is a member of, `channelId` the one with this id. Give one of the three.
     *
     * `GET /admin/apps/{appId}/channels`
     */
    channels(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Part of the name, case-insensitive. */
      q?: string | undefined
      /** Only channels of this member. */
      userId?: string | undefined
      /** Only the channel with this id. */
      channelId?: string | undefined
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest first; with `q`, public channels and livestreams before others. */
      channels: InspectedChannel[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Lists messages of a channel, the newest first, tombstones included. With `q` a call looks at
     * 1,000 messages, or at 2 MB of texts, so a page may have few that match, or none, and a
     * `nextCursor` all the same. Each call about a channel that is not open to everybody is noted
     * in the audit log.
     *
     * `GET /admin/apps/{appId}/channels/{channelId}/messages`
     */
    messages(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the channel. */
      channelId: string
      /** Part of the text, case-insensitive. */
      q?: string | undefined
      /** Only messages of this author. */
      userId?: string | undefined
      /** Only messages sent before this time. */
      sentBefore?: string | undefined
      /** Page size. Above 200 means 200. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest first. A page may end early. */
      messages: Message[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Lists all webhooks of an app, without their secrets.
     *
     * `GET /admin/apps/{appId}/webhooks`
     */
    webhooks(args: {
      /** Id of the app (tenant). */
      appId: string
    }, options?: CallOptions): Promise<{
      /** Oldest first. */
      webhooks: Webhook[]
    }>
    /**
     * Lists its deliveries, past and pending. Kept for 48 hours.
     *
     * `GET /admin/apps/{appId}/webhooks/{webhookId}/deliveries`
     */
    deliveries(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the webhook. */
      webhookId: string
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest first. */
      deliveries: WebhookDelivery[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
  }
  jobs: {
    /**
     * Lists the background jobs of an app that were given up (link previews, pushes and updates of
     * the push provider), newest first. They are kept for 7 days. A page may end after 1 MB.
     *
     * `GET /admin/apps/{appId}/jobs`
     */
    list(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Only jobs in this state: `failed` are those that were given up. */
      state?: 'failed' | undefined
      /** Page size. Above 1,000 means 1,000. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest first. */
      jobs: {
        /** Id of the job. */
        id: string
        /** What the job does. */
        task: string
        /** How many things it does it for, like messages. */
        size: number
        /** What it is about: the first 10. */
        about: {
          /** The message that it is about. */
          messageId: string | null
          /** The channel of the message, or that a user was added to. */
          channelId: string | null
          /** The user who reacted, or whose profile or devices the job copies. */
          userId: string | null
        }[]
        /** How often it has failed or was put off. */
        attempts: number
        /** Why it was given up. */
        reason: string
        /** When it was staged. */
        stagedAt: string
        /** When it was given up. */
        failedAt: string
      }[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Returns a job that was given up to the queue, as if it had just been staged. What it is about
     * is looked at again: a preview of a message that was deleted changes nothing.
     *
     * `POST /admin/apps/{appId}/jobs/{jobId}/retry`
     */
    retry(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Id of the job. */
      jobId: string
    }, options?: CallOptions): Promise<Success>
  }
  audit: {
    /**
     * Lists what the operator, API keys and moderating users did in all apps. Nobody changes an
     * entry; the server deletes it once it is older than AUDIT_RETENTION_DAYS.
     *
     * `GET /admin/audit`
     */
    list(args?: {
      /** Only this operation. */
      operation?: string | undefined
      /** Only by these. */
      actor?: ActorType | undefined
      /** Only by this user, or as them. */
      userId?: string | undefined
      /** Only by this API key. */
      keyId?: string | undefined
      /** Only what was done to this: the id of a user, channel, message, key and so on. */
      targetId?: string | undefined
      /** Only what happened before this time. */
      createdBefore?: string | undefined
      /** Page size. Above 200 means 200. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /**
       * Newest first. A page may end after 1 MB. It may have fewer entries than `limit`, or none,
       * and be followed by another.
       */
      entries: AuditEntry[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Lists the entries of one app like `audit.list`, also once it is deleted.
     *
     * `GET /admin/apps/{appId}/audit`
     */
    listOfApp(args: {
      /** Id of the app (tenant). */
      appId: string
      /** Only this operation. */
      operation?: string | undefined
      /** Only by these. */
      actor?: ActorType | undefined
      /** Only by this user, or as them. */
      userId?: string | undefined
      /** Only by this API key. */
      keyId?: string | undefined
      /** Only what was done to this: the id of a user, channel, message, key and so on. */
      targetId?: string | undefined
      /** Only what happened before this time. */
      createdBefore?: string | undefined
      /** Page size. Above 200 means 200. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /**
       * Newest first. A page may end after 1 MB. It may have fewer entries than `limit`, or none,
       * and be followed by another.
       */
      entries: AuditEntry[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
  }
  tokens: {
    /**
     * Creates the user if they do not exist, and sets the given profile fields (omitted fields keep
     * their value, `null` clears a field, `custom` is replaced as a whole). Returns a bearer token
     * and a WebSocket token, both valid for 24 hours. For backends only.
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
      /**
       * Your own metadata: at most 16 KB of JSON, with all digits of numbers, nested at most 20
       * levels deep.
       */
      custom?: CustomUser & Record<string, unknown> | null | undefined
      /**
       * Whether these tokens may administer other users (see USER_ADMIN_ACCESS). It takes an API
       * key with the scope `full`.
       */
      admin?: boolean | undefined
    }, options?: CallOptions): Promise<TokenResult>
    /**
     * Revokes every token the user has so far and closes their WebSocket connections: at once on
     * the server that handles this call, within 5 seconds on the others. For backends only.
     *
     * `POST /tokens/revoke`
     */
    revoke(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<Success>
  }
  users: {
    /**
     * Lists the users of the app by name. `q` matches a part of the name; `ids` asks for certain
     * users, and is given without `q` and `offset`. A page may end after 1 MB.
     *
     * `GET /api/users`
     */
    list(args?: {
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
      /** Part of the name, case-insensitive. */
      q?: string | undefined
      /**
       * Only these users, whatever the `limit`: at most 100 ids, joined by commas or each in a
       * parameter of its own. Unknown ids are left out.
       */
      ids?: string[] | undefined
    }, options?: CallOptions): Promise<{
      /** By name, then id. */
      users: User[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Returns one user with metadata. Only the user and backends see the e-mail address.
     *
     * `GET /api/users/{userId}`
     */
    get(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<UserDetails>
    /**
     * Creates and updates up to 1,000 users at once. Omitted fields keep their value, `null` clears
     * a field, `custom` is replaced as a whole. An invalid row does not reject the others: `errors`
     * lists the rejected rows and why. If an id occurs more than once, its last row counts.
     * Requires the right to administer users.
     *
     * `POST /api/users/sync`
     */
    sync(args: {
      /** At most 1,000. */
      users: UserInput[]
    }, options?: CallOptions): Promise<{
      /** Users created and updated. */
      synced: number
      /** Users that were new. */
      created: number
      /** Users that existed. */
      updated: number
      /** The rejected rows. */
      errors: {
        /** The id of the rejected row, if it has one. */
        id: string | null
        /** What is wrong with it. */
        message: string
      }[]
    }>
    /**
     * Creates the user if they do not exist, and sets the given fields. Omitted fields keep their
     * value, `null` clears a field, `custom` is replaced as a whole. The returned `custom` also has
     * the e-mail address. Allowed for yourself, or with the right to administer users.
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
      /**
       * Your own metadata: at most 16 KB of JSON, with all digits of numbers, nested at most 20
       * levels deep.
       */
      custom?: CustomUser & Record<string, unknown> | null | undefined
    }, options?: CallOptions): Promise<{
      /** The user's id in your own system. */
      id: string
      /** Display name; the id if none is set. */
      name: string
      /** Avatar URL. */
      image: string | null
      /** E-mail address. */
      email: string | null
      /** Your own metadata, and `email` if it is set. */
      custom: CustomUser & Record<string, unknown>
    }>
    /**
     * Erases the profile, devices and preferences and revokes all tokens at once. A background job
     * then removes the user from all channels and deletes their messages and reactions. Allowed for
     * yourself, or with the right to administer users.
     *
     * `DELETE /api/users/{userId}`
     */
    delete(args: {
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** The deleted user. */
      deletedUserId: string
    }>
    /**
     * Deletes up to 1,000 users, like DELETE does for one. Unknown ids are missing from `deleted`.
     * Requires the right to administer users.
     *
     * `POST /api/users/bulk-delete`
     */
    bulkDelete(args: {
      /** The users to delete; at most 1,000. */
      userIds: string[]
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** The users that existed, in the given order. */
      deleted: string[]
      /** How many were deleted. */
      count: number
    }>
    /**
     * Everything personal that is stored about a user: profile, devices without their push tokens,
     * preferences, workspaces, memberships, messages, reactions, read positions, pins, channels
     * that they left, and invites that they made or used; at most 200 items a page. With `Accept:
     * application/x-ndjson` all pages from the cursor on are streamed, one item a line. After each
     * page comes a line like `{"kind":"cursor","cursor":"…"}`, and the last line is
     * `{"kind":"end"}`: a stream without it was cut short, and goes on with the last cursor. A
     * stream counts as one call; a key has at most 4 at once with each process of the service. What
     * changes meanwhile may be in it or not. Each export is noted in the audit log when it begins;
     * its cursors are good for 24 hours, with the API key that began it.
     *
     * `GET /api/users/{userId}/export`
     */
    export(args: {
      /** The user's id in your own system. */
      userId: string
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** By kind. A page may end early. */
      items: ExportItem[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
  }
  channels: {
    /**
     * Lists your channels, newest activity first, with unread counts and last messages.
     * `discover=true` lists the channels you may join instead: public ones, and the team channels
     * of your workspaces. A backend lists all channels, the newest first, with `limit`, `offset`
     * and `cursor` only. A page may end early: `more` says that more follow.
     *
     * `GET /api/channels`
     */
    list(args?: {
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /** For backends only: `nextCursor` of an earlier page. */
      cursor?: string | undefined
      /** Only channels of this type. */
      type?: 'messaging' | 'group' | 'team' | 'livestream' | undefined
      /** List the channels you may join. */
      discover?: boolean | undefined
      /** Part of the name, case-insensitive. */
      q?: string | undefined
      /** Whether to count all unread messages. */
      total?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** Newest activity first. */
      channels: Channel[]
      /** More follow: call again with an `offset` past these. */
      more?: true | undefined
      /** For backends only: the `cursor` of the next page; null on the last page. */
      nextCursor?: string | null | undefined
      /**
       * Version of `starred` and `muted`: the offset of the caller's own topic up to which its
       * events are in this response. Of two responses the one with the higher one is newer.
       */
      settingsVersion: number
      /** With `total`: unread messages in all channels. */
      totalUnread?: number | undefined
      /**
       * Version of the total, like `version` in `channel.total_unread_changed`. Ignore a total
       * whose version is lower than the last one you saw.
       */
      totalUnreadVersion?: number | undefined
    }>
    /**
     * Creates a channel; you become its owner. `messaging` needs exactly one entry in `memberIds`,
     * and returns the existing channel if the two of you already have one; NOT_FOUND if there is no
     * such user. All other types need a `name`. A channel that a backend creates has no owner; it
     * cannot be a direct message.
     *
     * `POST /api/channels`
     */
    create(args: {
      /** Name of the channel. */
      name?: string | undefined
      type: ChannelType
      /** What the channel is about. */
      description?: string | undefined
      /** Image URL. */
      image?: string | undefined
      /**
       * Further members; fewer at once if the channel has kilobytes of metadata, which each of them
       * is sent.
       */
      memberIds?: string[] | undefined
      /** The workspace it is in. */
      workspaceId?: string | undefined
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep.
       */
      custom?: CustomChannel & Record<string, unknown> | undefined
      /**
       * Your own key for this create. A retry with the same key returns the first result instead of
       * creating a second one.
       */
      clientId?: string | undefined
    }, options?: CallOptions): Promise<Channel>
    /**
     * Returns one channel with its first 100 members.
     *
     * `GET /api/channels/{channelId}`
     */
    get(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Channel>
    /**
     * Changes the name, image, description or metadata; `null` clears the image or the description.
     * Owners and moderators only, and the backend, which alone may freeze the channel, and change a
     * direct message: its metadata and `frozen`, and nothing else.
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
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep. Its keys replace those that are there, `null` as a value removes a key, and
       * keys that are left out stay; `null` removes all.
       */
      custom?: CustomChange<CustomChannel> & Record<string, unknown> | null | undefined
      /** Whether only the backend may send messages. */
      frozen?: boolean | undefined
    }, options?: CallOptions): Promise<Channel>
    /**
     * Deletes the channel and everything in it, for all members. Owners only, and the backend.
     *
     * `DELETE /api/channels/{channelId}`
     */
    delete(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Changes your own settings of the channel. Omitted fields keep their value.
     *
     * `PATCH /api/channels/{channelId}/settings`
     */
    updateSettings(args: {
      /** Id of the channel. */
      channelId: string
      /** Whether to star it. */
      starred?: boolean | undefined
      /** Whether to mute notifications of new messages. */
      muted?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** Whether you starred it. */
      starred: boolean
      /** Whether you muted it. */
      muted: boolean
    }>
  }
  members: {
    /**
     * Lists the members of a channel in the order they joined. A page may end early, where an
     * answer has no more room.
     *
     * `GET /api/channels/{channelId}/members`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size. Above 1,000 means 1,000. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: Member[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Adds users to a channel; existing members keep their role. In group and public channels any
     * member may add users, in other channels owners and moderators. Only an owner may give a role
     * other than `member`. The backend may add users to any channel. Not possible in direct
     * messages.
     *
     * `POST /api/channels/{channelId}/members`
     */
    add(args: {
      /** Id of the channel. */
      channelId: string
      /**
       * The users to add; fewer at once if the channel has kilobytes of metadata, which each of
       * them is sent.
       */
      userIds: string[]
      /** The role they get. */
      role?: Role | undefined
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep. With at most 100 users.
       */
      custom?: CustomMember & Record<string, unknown> | undefined
    }, options?: CallOptions): Promise<{
      /** The given users, as members: as many as an answer has room for. */
      members: Member[]
      /** How many members the channel has now. */
      memberCount: number
    }>
    /**
     * Gives a member another role, or changes their metadata in the channel, or both. Owners only,
     * except that members may change their own metadata. The last owner cannot give up the role.
     *
     * `PATCH /api/channels/{channelId}/members/{userId}`
     */
    update(args: {
      /** Id of the channel. */
      channelId: string
      /** The user's id in your own system. */
      userId: string
      role?: Role | undefined
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep. Its keys replace those that are there, `null` as a value removes a key, and
       * keys that are left out stay; `null` removes all.
       */
      custom?: CustomChange<CustomMember> & Record<string, unknown> | null | undefined
    }, options?: CallOptions): Promise<Member>
    /**
     * Owners may remove anyone, moderators plain members, and every member may remove themselves.
     * The backend may remove anyone. Not possible in direct messages.
     *
     * `DELETE /api/channels/{channelId}/members/{userId}`
     */
    remove(args: {
      /** Id of the channel. */
      channelId: string
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Joins a public or livestream channel, or a team channel of your workspace. Joining again
     * changes nothing.
     *
     * `POST /api/channels/{channelId}/join`
     */
    join(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Member>
    /**
     * Leaves the channel. If you are the last owner, the oldest moderator becomes the owner, or the
     * oldest member if there is no moderator. Not possible in direct messages.
     *
     * `POST /api/channels/{channelId}/leave`
     */
    leave(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Success>
  }
  messages: {
    /**
     * Returns a page of messages in ascending order of `seq`: the newest, or with a cursor those
     * before or after it. Accepts at most one of `before`, `after` and `since_seq`.
     *
     * `GET /api/channels/{channelId}/messages`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size. Above 200 means 200. */
      limit?: number | undefined
      /** Return the messages just older than this one. Not with `after` or `since_seq`. */
      before?: string | undefined
      /** Return the messages just newer than this one. Not with `before` or `since_seq`. */
      after?: string | undefined
      /**
       * Return the next messages with a greater `seq`, including tombstones of deleted ones. 0
       * starts at the first message. Not with `before` or `after`.
       */
      since_seq?: number | undefined
      /** With `false`, replies are left out; threads have them. Not with `since_seq`. */
      replies?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** In ascending order of `seq`. */
      messages: Message[]
      /** Highest `seq` of the channel; 0 if nothing was ever sent. */
      maxSeq: number
      /** Whether there is more in the requested direction. A page may end early. */
      hasMore: boolean
    }>
    /**
     * Returns one message. A deleted message is NOT_FOUND.
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
     * Returns a page of the thread below a message, in ascending order of `seq`: the newest
     * replies, or with a cursor those before or after it.
     *
     * `GET /api/channels/{channelId}/messages/{messageId}/replies`
     */
    replies(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /** Page size. Above 200 means 200. */
      limit?: number | undefined
      /** Return the replies just older than this one. Not with `after`. */
      before?: string | undefined
      /** Return the replies just newer than this one. Not with `before`. */
      after?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In ascending order of `seq`. */
      messages: Message[]
      /** Whether there is more in the requested direction. A page may end early. */
      hasMore: boolean
    }>
    /**
     * Appends a message to the channel. With a `clientId`, a retry after a lost response returns
     * the original message. A reply to a reply joins the thread of its root. In public and
     * livestream channels, the first message makes its author a member. While a channel is frozen,
     * only the backend may send. What it sends for itself is a system message: it counts in no
     * unread count, and is pushed only with `silent: false`.
     *
     * `POST /api/channels/{channelId}/messages`
     */
    send(args: {
      /** Id of the channel. */
      channelId: string
      /**
       * At most 10,000 characters; may be empty if there are attachments. `@name` mentions a user.
       */
      text: string
      /** At most 30. */
      attachments?: Attachment[] | undefined
      /** The message to reply to. */
      parentId?: string | undefined
      /** The message to quote, of the same channel. */
      quotedMessageId?: string | undefined
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep.
       */
      custom?: CustomMessage & Record<string, unknown> | undefined
      /** `regular` for users, `system` for the backend: the only ones they may send. */
      type?: MessageType | undefined
      /** Whether it is sent without a push, and counts in no unread count. */
      silent?: boolean | undefined
      /**
       * Whether its text will grow: the author appends parts, and then finishes it. It counts as
       * unread now; mentions, link previews and the push follow at the end. Not for system
       * messages, nor for a user's own token while a before-send hook is set.
       */
      streaming?: boolean | undefined
      /**
       * Your own key for this create. A retry with the same key returns the first result instead of
       * creating a second one.
       */
      clientId?: string | undefined
    }, options?: CallOptions): Promise<Message>
    /**
     * Appends up to 50 messages to the channel, in the order in which they are given, as if each
     * were sent alone: for a client that was offline. One that is refused does not refuse the
     * others, but after one that fails with UNAVAILABLE none is stored, so that a repeat keeps the
     * order. Each has a `clientId`, so that the call may be repeated after a lost response. Each
     * counts against the limit of messages; what repeats have counted is given back afterwards. New
     * ones for which there is no room are answered with RATE_LIMITED.
     *
     * `POST /api/channels/{channelId}/messages/batch`
     */
    sendBatch(args: {
      /** Id of the channel. */
      channelId: string
      /** At most 50, oldest first. */
      messages: MessageDraft[]
    }, options?: CallOptions): Promise<{
      /** One for each message, in the same order. */
      results: {
        message?: Message | undefined
        error?: BatchError | undefined
      }[]
    }>
    /**
     * Replaces the text of your own message, however old it is, or changes its metadata, or both.
     * Mentions and link previews are derived from the new text. A new text ends the stream of a
     * message that grows, and completes one that was interrupted.
     *
     * `PATCH /api/channels/{channelId}/messages/{messageId}`
     */
    edit(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /**
       * At most 10,000 characters; may be empty if there are attachments. `@name` mentions a user.
       */
      text?: string | undefined
      /**
       * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10
       * levels deep. Its keys replace those that are there, `null` as a value removes a key, and
       * keys that are left out stay; `null` removes all.
       */
      custom?: CustomChange<CustomMessage> & Record<string, unknown> | null | undefined
      /**
       * The `editedAt` of the message that was edited. If the message has another one and another
       * text meanwhile, the edit is refused: CONFLICT.
       */
      ifEditedAt?: string | null | undefined
    }, options?: CallOptions): Promise<Message>
    /**
     * Deletes your own message within 15 minutes of sending it, or, with an API key, any message at
     * any time. Its `seq` is not used again.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}`
     */
    delete(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** Id of the message. */
      messageId: string
      /** When it was deleted. */
      deletedAt: string
    }>
  }
  streams: {
    /**
     * Appends text to your own message that was sent with `streaming: true`. The answer means that
     * the text is in the database: no crash of a server loses it. Subscribers are sent it at once
     * as `message.delta`; the message itself follows as `message.updated`, at most every 1 s.
     * Without an append for 30 s the message is interrupted, and after 3,600 s in any case; an
     * empty text keeps it alive until then. Repeating an append changes nothing. Otherwise `at`
     * must be the length so far: any other is a VALIDATION_ERROR that says this length. Once the
     * message is finished, edited or interrupted, it is FORBIDDEN. 3,000 a minute for each user,
     * also for a backend that acts as that user.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/append`
     */
    append(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /**
       * What to append. The whole text has at most 10,000 characters. Do not split surrogate pairs.
       */
      text: string
      /**
       * The length of the text before it, in UTF-16 code units, as `length` of a string in
       * JavaScript.
       */
      at: number
    }, options?: CallOptions): Promise<{
      /** The length of the text now, in UTF-16 code units: `at` of the next append. */
      length: number
    }>
    /**
     * Ends the stream of your own message: mentions and link previews are derived from the whole
     * text, and its push is sent. A message that has ended is returned as it is; one that was never
     * streamed is FORBIDDEN.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/finish`
     */
    finish(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<Message>
  }
  reactions: {
    /**
     * Adds your reaction to a message. Adding it again changes nothing. A message has at most 50
     * different emoji.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/reactions`
     */
    add(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /**
       * The emoji, or a short word: at most 64 bytes of UTF-8 in NFC, without spaces and control
       * characters; not "." or "..".
       */
      emoji: string
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** All reactions to the message after the change. */
      reactions: Reaction[]
    }>
    /**
     * Removes your reaction from a message. Removing a reaction that does not exist changes
     * nothing.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}`
     */
    remove(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
      /**
       * The emoji, or a short word: at most 64 bytes of UTF-8 in NFC, without spaces and control
       * characters; not "." or "..".
       */
      emoji: string
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** All reactions to the message after the change. */
      reactions: Reaction[]
    }>
  }
  pins: {
    /**
     * Pins a message; any member may. Pinning it again changes nothing. A channel has at most 100
     * pins.
     *
     * `POST /api/channels/{channelId}/messages/{messageId}/pin`
     */
    pin(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Unpins a message; any member may. Unpinning a message that is not pinned changes nothing.
     *
     * `DELETE /api/channels/{channelId}/messages/{messageId}/pin`
     */
    unpin(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Lists the pinned messages of a channel, the latest pin first. A list may end early: `more`
     * says that more follow.
     *
     * `GET /api/channels/{channelId}/pins`
     */
    list(args: {
      /** Id of the channel. */
      channelId: string
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
    }, options?: CallOptions): Promise<{
      /** The latest pin first. */
      messages: PinnedMessage[]
      /** More follow: call again with an `offset` past these. */
      more?: true | undefined
    }>
  }
  reads: {
    /**
     * Sets your unread count of the channel to 0 and moves your read position: to `messageId`, or
     * without it to the newest message. The read position never moves back.
     *
     * `POST /api/channels/{channelId}/read`
     */
    mark(args: {
      /** Id of the channel. */
      channelId: string
      /** The last message seen. */
      messageId?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** `seq` of your read position. */
      lastReadSeq: number
      /** Unread messages in the channel now: those that came meanwhile. */
      unreadCount: number
      /** Version of `unreadCount`, as in channels. */
      unreadVersion: number
    }>
    /**
     * Counts the unread messages in all your channels, including muted ones.
     *
     * `GET /api/channels/unread-count`
     */
    unreadCount(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** Unread messages in all channels. */
      count: number
      /**
       * Version of the total, like `version` in `channel.total_unread_changed`. Ignore a total
       * whose version is lower than the last one you saw.
       */
      version: number
    }>
  }
  receipts: {
    /**
     * Marks that message and everything before it as read; everything after it stays unread. The
     * read position never moves back.
     *
     * `POST /api/channels/{channelId}/receipts`
     */
    mark(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** Always true: a failure is an error response. */
      success: boolean
      /** The message at the read position now. */
      lastReadMessageId: string
    }>
    /**
     * Lists who has read a message, and when, without its author. `readCount` is exact; `readBy`
     * has at most 100 entries.
     *
     * `GET /api/channels/{channelId}/receipts/messages/{messageId}/receipts`
     */
    get(args: {
      /** Id of the channel. */
      channelId: string
      /** Id of the message. */
      messageId: string
    }, options?: CallOptions): Promise<{
      /** In the order they read it; at most 100, and as many as an answer has room for. */
      readBy: Reader[]
      /** How many members have read it, without its author. */
      readCount: number
      /** How many members the channel has. */
      totalMembers: number
    }>
    /**
     * Returns the receipts of up to 200 messages by message id. Unknown messages, and those of
     * other channels, are left out. `readCount` is exact; an answer shows as many readers as it has
     * room for, of each message alike.
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
          /** How many members have read it, without its author. */
          readCount: number
          /** In the order they read it; at most 100, and as many as an answer has room for. */
          readers: Reader[]
        }>
    }>
    /**
     * Lists the read position of each member, in the order they joined. A page may end early, where
     * an answer has no more room.
     *
     * `GET /api/channels/{channelId}/receipts/read-status`
     */
    status(args: {
      /** Id of the channel. */
      channelId: string
      /** Page size. Above 1,000 means 1,000. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: ReadStatus[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
  }
  sync: {
    /**
     * Takes the channels you know, each with the `rev` you know of it. Returns the messages changed
     * since then and each channel as it is now. A response has at most 1,500 messages and 1 MB.
     * With `more`, call again for the channels that have more. A client that shows channels gets
     * what it shows of them in the same call, with `pages`, `roots`, `threads`, `pins`, `members`,
     * `userIds` and `total`. Where there is no room for one of these it is left out, and older
     * servers know only some of them: get it by a call of its own.
     *
     * `POST /api/sync`
     */
    pull(args: {
      /**
       * The `rev` you know, by channel id; 0 if you know nothing of the channel. At most 200
       * channels.
       */
      channels: Record<string, number>
      /** Those of the channels whose newest 50 messages to return. At most 10 channels. */
      pages?: string[] | undefined
      /** The same of those whose messages are shown without replies. At most 10 channels. */
      roots?: string[] | undefined
      /**
       * Messages of these channels: the newest 50 replies to each are returned. At most 10
       * messages.
       */
      threads?: string[] | undefined
      /** Those of the channels whose pinned messages to return. At most 10 channels. */
      pins?: string[] | undefined
      /**
       * Those of the channels whose members and read positions to return, in all up to 1,000
       * members. At most 10 channels.
       */
      members?: string[] | undefined
      /** Users to return, to show who is online: at most 100 ids. Unknown ids are left out. */
      userIds?: string[] | undefined
      /** Whether to count all unread messages. */
      total?: boolean | undefined
    }, options?: CallOptions): Promise<{
      /** By channel id: an entry for each requested channel. */
      channels: Record<string, ChannelChanges>
      /** Whether any channel has more changes. */
      more: boolean
      /**
       * Version of `starred` and `muted`: the offset of the caller's own topic up to which its
       * events are in this response. Of two responses the one with the higher one is newer.
       */
      settingsVersion: number
      /** With `userIds`: those who exist, by name. */
      users?: User[] | undefined
      /** With `total`: unread messages in all channels. */
      totalUnread?: number | undefined
      /**
       * Version of the total, like `version` in `channel.total_unread_changed`. Ignore a total
       * whose version is lower than the last one you saw.
       */
      totalUnreadVersion?: number | undefined
    }>
  }
  workspaces: {
    /**
     * Lists the workspaces you belong to, in the order you joined them. A page may end early, where
     * an answer has no more room.
     *
     * `GET /api/workspaces`
     */
    list(args?: {
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /** `nextCursor` of an earlier page. */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In the order you joined them. */
      workspaces: Workspace[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Creates a workspace; you become its owner.
     *
     * `POST /api/workspaces`
     */
    create(args: {
      /** Name of the workspace. */
      name: string
      /** Kind of workspace: a word of your own. */
      type: string
      /** Image URL. */
      image?: string | undefined
    }, options?: CallOptions): Promise<Workspace>
    /**
     * Lists the members of one of your workspaces in the order they joined. A page may end early,
     * where an answer has no more room.
     *
     * `GET /api/workspaces/{workspaceId}/members`
     */
    members(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** Page size. Above 1,000 means 1,000. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In the order they joined. */
      members: WorkspaceMember[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Owners may remove anyone, admins plain members, and every member may remove themselves. If
     * the last owner leaves, the oldest admin becomes the owner, or the oldest member if there is
     * no admin. A user who is no longer a member of the workspace can no longer read its team
     * channels, except those they are a member of.
     *
     * `DELETE /api/workspaces/{workspaceId}/members/{userId}`
     */
    removeMember(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** The user's id in your own system. */
      userId: string
    }, options?: CallOptions): Promise<Success>
  }
  invites: {
    /**
     * Creates an invite link, shown only in this response. Owners and admins only, and only for
     * roles up to their own. It is void once its creator has left the workspace or has a lower role
     * than this requires.
     *
     * `POST /api/workspaces/{workspaceId}/invite`
     */
    create(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** How many users may join with it; default: no limit. */
      maxUses?: number | null | undefined
      /** How many days it is valid. */
      expiresInDays?: number | undefined
      /** The role of users who join with it. */
      role?: WorkspaceRole | undefined
    }, options?: CallOptions): Promise<{
      /** Id of the invite. */
      id: string
      /** The secret of the invite: anyone who has it may join. */
      token: string
      /**
       * Link to hand out: a page of your application (INVITE_URL) that accepts the invite with its
       * token.
       */
      inviteUrl: string
      /** When it expires. */
      expiresAt: string
    }>
    /**
     * Lists the invites of a workspace that are valid, those used up included. Owners and admins
     * only. One call looks at 2,000 at most, void ones included: a page may be short, or empty, and
     * not be the last.
     *
     * `GET /api/workspaces/{workspaceId}/invites`
     */
    list(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /** How many entries to skip: as many as the pages before had; a page may be short. */
      offset?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** The newest first. */
      invites: Invite[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Nobody can join with the invite any more. Those who have joined stay members. Owners and
     * admins only.
     *
     * `DELETE /api/workspaces/{workspaceId}/invites/{inviteId}`
     */
    revoke(args: {
      /** Id of the workspace. */
      workspaceId: string
      /** Id of the invite. */
      inviteId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Makes you a member of the workspace. Each user counts once against the limit of the invite;
     * existing members keep their role.
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
  abandoned: {
    /**
     * Lists the channels of the app without members.
     *
     * `GET /api/abandoned/channels`
     */
    channels(args?: {
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page. One call looks at 1,000 at most, with and without members:
       * a page may be short, or empty, and not be the last.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In no particular order. */
      channels: AbandonedChannel[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Deletes a channel without members, and everything in it. One that has members is FORBIDDEN.
     *
     * `DELETE /api/abandoned/channels/{channelId}`
     */
    deleteChannel(args: {
      /** Id of the channel. */
      channelId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Lists the workspaces of the app without members. Their channels may still have members.
     *
     * `GET /api/abandoned/workspaces`
     */
    workspaces(args?: {
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page. One call looks at 1,000 at most, with and without members:
       * a page may be short, or empty, and not be the last.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** In no particular order. */
      workspaces: AbandonedWorkspace[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Deletes a workspace without members and its invites. One that has members or channels is
     * FORBIDDEN.
     *
     * `DELETE /api/abandoned/workspaces/{workspaceId}`
     */
    deleteWorkspace(args: {
      /** Id of the workspace. */
      workspaceId: string
    }, options?: CallOptions): Promise<Success>
  }
  devices: {
    /**
     * Registers a device for push notifications. Registering the same token, or the same
     * `deviceId`, again updates the device. A token that belonged to another user becomes yours. A
     * user has at most 25 devices.
     *
     * `POST /api/devices`
     */
    create(args: {
      platform: DevicePlatform
      /** Push token from the device. */
      token: string
      provider: DeviceProvider
      /** Your own unique id of the device. */
      deviceId?: string | undefined
      /** App version, for targeting. */
      appVersion?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Id of the device. */
      id: string
      platform: DevicePlatform
      provider: DeviceProvider
      /** When it was first registered. */
      createdAt: string
    }>
    /**
     * Removes one of your devices, by its `id` or by its `deviceId`.
     *
     * `DELETE /api/devices/{deviceId}`
     */
    delete(args: {
      /** The `id` or the `deviceId`. */
      deviceId: string
    }, options?: CallOptions): Promise<Success>
  }
  preferences: {
    /**
     * Returns your notification preferences, and those that the push provider stores.
     *
     * `GET /api/devices/preferences`
     */
    get(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** Your preferences, including the defaults of those you never changed. */
      preferences: Preferences
      /**
       * As the push provider stores them; empty without a provider, or if it does not answer or is
       * asked too often.
       */
      providerPreferences: {
        /** By delivery channel. */
        channels: unknown[]
        /** By kind of notification. */
        workflows: unknown[]
      }
    }>
    /**
     * Changes the given preferences and keeps the others. Unknown names are an error.
     *
     * `PATCH /api/devices/preferences`
     */
    update(args?: PreferencesPatch, options?: CallOptions): Promise<{
      /** Your preferences, including the defaults of those you never changed. */
      preferences: Preferences
    }>
  }
  typing: {
    /**
     * Sends `typing.start` to the channel, or `typing.stop` with `typing: false`. Without another
     * call, `typing.stop` follows after 6 seconds. Nothing is stored. Channels with more than 100
     * members show no typing: there the call has no effect.
     *
     * `POST /api/channels/{channelId}/typing`
     */
    set(args: {
      /** Id of the channel. */
      channelId: string
      /** False when you have stopped typing. */
      typing?: boolean | undefined
    }, options?: CallOptions): Promise<Success>
  }
  webhooks: {
    /**
     * From now on, the durable events of the app that match are sent to the URL, signed by the
     * Standard Webhooks convention. An app has at most 20. Unknown names are an error.
     *
     * `POST /webhooks`
     */
    create(args: {
      /**
       * Where deliveries are sent: https, on the default port, at a public address. The operator
       * can allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
       */
      url: string
      /** The events that it is sent. */
      events: EventPattern[]
      /** What it is for; null if not given. */
      description?: string | null | undefined
    }, options?: CallOptions): Promise<WebhookWithSecret>
    /**
     * Lists all webhooks of the app, without their secrets.
     *
     * `GET /webhooks`
     */
    list(args?: Record<string, never>, options?: CallOptions): Promise<{
      /** Oldest first. */
      webhooks: Webhook[]
    }>
    /**
     * Changes the fields that are given; unknown names are an error. `enabled: true` also enables a
     * webhook that the server has disabled; what happened meanwhile is sent by a replay.
     *
     * `PATCH /webhooks/{webhookId}`
     */
    update(args: {
      /** Id of the webhook. */
      webhookId: string
      /**
       * Where deliveries are sent: https, on the default port, at a public address. The operator
       * can allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
       */
      url?: string | undefined
      /** The events that it is sent. */
      events?: EventPattern[] | undefined
      /** What it is for; null if not given. */
      description?: string | null | undefined
      /**
       * Whether events are sent to it. While disabled it gets none; a replay sends those of 24 h.
       */
      enabled?: boolean | undefined
    }, options?: CallOptions): Promise<Webhook>
    /**
     * Deletes the webhook, and cancels its deliveries that have not succeeded yet.
     *
     * `DELETE /webhooks/{webhookId}`
     */
    delete(args: {
      /** Id of the webhook. */
      webhookId: string
    }, options?: CallOptions): Promise<Success>
    /**
     * Makes a new secret. For 24 hours the previous one signs too, so that receivers with either
     * secret accept deliveries.
     *
     * `POST /webhooks/{webhookId}/rotate`
     */
    rotate(args: {
      /** Id of the webhook. */
      webhookId: string
    }, options?: CallOptions): Promise<WebhookWithSecret>
    /**
     * Sends it an event `webhook.test`. The list of its deliveries shows the outcome.
     *
     * `POST /webhooks/{webhookId}/test`
     */
    test(args: {
      /** Id of the webhook. */
      webhookId: string
    }, options?: CallOptions): Promise<WebhookDelivery>
    /**
     * Lists its deliveries, past and pending. Kept for 48 hours.
     *
     * `GET /webhooks/{webhookId}/deliveries`
     */
    deliveries(args: {
      /** Id of the webhook. */
      webhookId: string
      /** Page size. Above 100 means 100. */
      limit?: number | undefined
      /**
       * `nextCursor` of an earlier page: the list goes on after it, whatever was added or removed
       * meanwhile, and as fast on the last page as on the first. `offset` counts from there.
       */
      cursor?: string | undefined
    }, options?: CallOptions): Promise<{
      /** Newest first. */
      deliveries: WebhookDelivery[]
      /** The `cursor` of the next page; null on the last page. */
      nextCursor: string | null
    }>
    /**
     * Sends it again now, whatever its status, with all its attempts. Its event is kept for 24
     * hours.
     *
     * `POST /webhooks/{webhookId}/deliveries/{deliveryId}/retry`
     */
    retry(args: {
      /** Id of the webhook. */
      webhookId: string
      /** Id of the delivery. */
      deliveryId: string
    }, options?: CallOptions): Promise<WebhookDelivery>
    /**
     * Sends all events that match and happened since a time, those already delivered and those from
     * before the webhook included. Events are kept for 24 hours. While one runs, another that
     * starts further back is refused with CONFLICT, and one that starts later runs after it. Repeat
     * a call that got no answer with the same `since`.
     *
     * `POST /webhooks/{webhookId}/replay`
     */
    replay(args: {
      /** Id of the webhook. */
      webhookId: string
      /** Events since then are sent. */
      since: string
    }, options?: CallOptions): Promise<Success>
  }
  hooks: {
    /**
     * Within 5 seconds, each message that a user of the app sends or edits with a token goes to the
     * URL first, signed by the Standard Webhooks convention. It is stored, changed or refused as
     * the endpoint answers. A hook that is set again keeps its secret. Unknown names are an error.
     *
     * `PUT /hooks/before-send`
     */
    setBeforeSend(args: {
      /**
       * Where messages are screened: https, on the default port, at a public address. The operator
       * can allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
       */
      url: string
      onError: OnHookError
      /** Time for an answer: 100 to 2,000 ms. */
      timeoutMs?: number | undefined
    }, options?: CallOptions): Promise<BeforeSendHookWithSecret>
    /**
     * Returns the hook, without its secret.
     *
     * `GET /hooks/before-send`
     */
    getBeforeSend(args?: Record<string, never>, options?: CallOptions): Promise<BeforeSendHook>
    /**
     * Within 5 seconds no message is sent to it any more.
     *
     * `DELETE /hooks/before-send`
     */
    deleteBeforeSend(args?: Record<string, never>, options?: CallOptions): Promise<Success>
    /**
     * Makes a new secret. For 24 hours the previous one signs too, so that endpoints with either
     * secret accept the requests.
     *
     * `POST /hooks/before-send/rotate`
     */
    rotateBeforeSend(args?: Record<string, never>, options?: CallOptions): Promise<BeforeSendHookWithSecret>
  }
  imports: {
    /**
     * Reads records from the body, NDJSON with one record a line, while it arrives, and answers at
     * its end. An import that is repeated changes nothing, and one that was interrupted goes on
     * where it was. It causes no events, pushes, previews or unread messages. An app has one import
     * at a time: another is refused with RATE_LIMITED. A line has at most 256 KB; one that cannot
     * be imported does not stop the others. The import ends if no line comes for 20 seconds. The
     * format is in docs/import.md.
     *
     * `POST /import`
     */
    run(args?: Record<string, never>, options?: CallOptions): Promise<ImportReport>
  }
}

/** The operations of a user. */
export interface UserApi {
  service: Api['service']
  users: Pick<Api['users'], 'list' | 'get' | 'sync' | 'put' | 'delete' | 'bulkDelete'>
  channels: Api['channels']
  members: Api['members']
  messages: Api['messages']
  streams: Api['streams']
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
  channels: Pick<Api['channels'], 'list' | 'create' | 'get' | 'update' | 'delete'>
  members: Pick<Api['members'], 'list' | 'add' | 'remove'>
  messages: Pick<Api['messages'], 'list' | 'send' | 'sendBatch' | 'delete'>
  abandoned: Api['abandoned']
  webhooks: Api['webhooks']
  hooks: Api['hooks']
  imports: Api['imports']
}

/** Events of a channel's topic. */
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
      /** How many replies it has now, without deleted ones. */
      replyCount: number
    } | undefined
    /**
     * `seq` of the author's read position after this message: the message itself if they had read
     * everything before it. Absent in system messages.
     */
    authorLastReadSeq?: number | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A message was edited, pinned or unpinned, or its link previews are ready. */
  'message.updated': {
    /** Id of the channel. */
    channelId: string
    message: Message
    /** Who pinned it and when, if this is what has changed. */
    pin?: {
      /** The user who pinned it. */
      pinnedBy: string
      /** When it was pinned. */
      pinnedAt: string
    } | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A message was deleted. */
  'message.deleted': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** Number of the message in the channel; it is not used again. */
    seq: number
    /** When it was deleted. */
    deletedAt: string
    /** For a reply: the root of its thread, whose `rev` becomes that of this event. */
    parent?: {
      /** Id of the message. */
      id: string
      /** How many replies it has now, without deleted ones. */
      replyCount: number
    } | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A user reacted to a message. */
  'reaction.added': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The reaction that was added or removed. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** The user who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A user removed a reaction. */
  'reaction.removed': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The reaction that was added or removed. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** The user who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A user became a member. */
  'channel.member_joined': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /** Your own metadata. */
    custom: CustomMember & Record<string, unknown>
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** A user is no longer a member. Ends their subscription. */
  'channel.member_left': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The role or the metadata of a member changed. */
  'channel.member_updated': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /** Your own metadata. */
    custom: CustomMember & Record<string, unknown>
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** Name, image, description, metadata or whether it is frozen changed. */
  'channel.updated': {
    /** Id of the channel. */
    channelId: string
    channel: ChannelProfile
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The channel was deleted. Ends every subscription. */
  'channel.deleted': {
    /** Id of the channel. */
    channelId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /**
   * A user is typing. `typing.stop` follows at most 6 seconds after the last one. In channels with
   * more than 100 members, it is not sent.
   */
  'typing.start': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** The user who is typing. */
    user: UserSummary
  }
  /** A user stopped typing. */
  'typing.stop': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** The user who is typing. */
    user: UserSummary
  }
  /**
   * A user marked the channel, or messages up to one, as read. In channels with more than 100
   * members, it is sent to that user only.
   */
  'read.updated': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    /** `seq` of the user's read position; 0 if nothing was read. */
    lastReadSeq: number
    /** The message at that position; null if nothing was read. */
    lastReadMessageId: string | null
    /** When the position was reached. */
    readAt: string
  }
  /**
   * The text of a message with `streaming: true` has grown. If you have its text up to `at`, append
   * what you lack of `text`; otherwise wait for the next `message.updated`. In channels with more
   * than 100 members, parts are joined for 100 ms.
   */
  'message.delta': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** Where in the text of the message it begins, in UTF-16 code units. */
    at: number
    /** The text from there on. */
    text: string
  }
  /**
   * A user marked this message, and those before it, as read. In channels with more than 100
   * members, it is sent to that user only.
   */
  'read_receipt': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The user's id in your own system. */
    userId: string
    /** Display name; the id if none is set. */
    name: string
    /** Avatar URL. */
    image: string | null
    /** When the message was read. */
    readAt: string
  }
}

/** Events of a user's topic. */
export interface UserEvents {
  /** The user became a member of a channel. */
  'channel.added': {
    /** The channel as the user sees it. */
    channel: {
      /** Id of the channel. */
      id: string
      /** Readable identifier, `<type>:<slug>`. */
      cid: string
      /** Name of the channel; for a direct message the other member's name. */
      name: string
      type: ChannelType
      /** Image URL. */
      image: string | null
      /** What the channel is about. */
      description: string | null
      /** The workspace it is in. */
      workspaceId: string | null
      /** The user who created it. */
      createdBy: string
      /** How many members it has. */
      memberCount: number
      /** Unread messages for the caller. */
      unreadCount: number
      /** Version of `unreadCount`. Ignore counts with a lower one than the last seen. */
      unreadVersion: number
      /** `seq` of the caller's read position; 0 if nothing was read. */
      lastReadSeq: number
      /** The caller's role; null if not a member. */
      role: Role | null
      /** Whether the caller starred it. */
      starred: boolean
      /** Whether the caller muted it. */
      muted: boolean
      /** Revision of the channel: goes up by 1 with each durable event. */
      rev: number
      /**
       * The first 100 members, or as many as there is room for. Present in a single channel, and
       * for direct messages in lists.
       */
      members?: Member[] | undefined
      /** Whether only the backend may send messages. */
      frozen: boolean
      /** Your own metadata. */
      custom: CustomChannel & Record<string, unknown>
      /** When it was created. */
      createdAt: string
      /** When its name, image, description, metadata or frozen last changed. */
      updatedAt: string
    }
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The user is no longer a member of a channel. */
  'channel.removed': {
    /** Id of the channel. */
    channelId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The user is no longer a member of a workspace. */
  'workspace.removed': {
    /** Id of the workspace. */
    workspaceId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The user starred or muted a channel. Keeps the user's devices in sync. */
  'channel.settings_changed': {
    /** Id of the channel. */
    channelId: string
    /** Whether the user starred it. */
    starred: boolean
    /** Whether the user muted it. */
    muted: boolean
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** The unread count of a channel changed. */
  'channel.unread_changed': {
    /** Id of the channel. */
    channelId: string
    /** Unread messages in the channel now. */
    count: number
    /**
     * Version of the count, like `unreadVersion` of the channel. Ignore a count whose version is
     * lower than the last one you saw.
     */
    version: number
  }
  /** The unread count of all channels together changed. */
  'channel.total_unread_changed': {
    /** Unread messages in all channels now. */
    count: number
    /**
     * Version of the count, like `totalUnreadVersion` in responses. Ignore a count whose version is
     * lower than the last one you saw. If it is absent, take the count and forget the last version.
     * Forget that also when you connect again: versions of a restored database may be lower.
     */
    version?: number | undefined
  }
  /** Copy of the event on the channel's topic, for members who do not subscribe to that topic. */
  'channel.updated': {
    /** Id of the channel. */
    channelId: string
    channel: ChannelProfile
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /** Copy of the event on the channel's topic, for members who do not subscribe to that topic. */
  'channel.deleted': {
    /** Id of the channel. */
    channelId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
  }
  /**
   * The user, or another member of one of their channels, has a new name or image. Channels with
   * more than 100 members do not count.
   */
  'user.updated': {
    user: UserSummary
    /**
     * Version of the name and image. Ignore those whose version is lower than the last one you saw.
     * Absent from servers of earlier versions.
     */
    version?: number | undefined
  }
  /**
   * The user, or another member of one of their channels, came online. Channels with more than 100
   * members do not count.
   */
  'presence.online': {
    /** The user's id in your own system. */
    userId: string
    /** When the user was last active. */
    lastActiveAt: string | null
    /**
     * Version of whether the user is online: in events `version`, in users `presenceVersion`.
     * Ignore a value whose version is lower than the last one you saw.
     */
    version?: number | undefined
  }
  /**
   * The user, or another member of one of their channels, went offline: no connection for 15
   * seconds (configurable). Channels with more than 100 members do not count.
   */
  'presence.offline': {
    /** The user's id in your own system. */
    userId: string
    /** When the user was last active. */
    lastActiveAt: string | null
    /**
     * Version of whether the user is online: in events `version`, in users `presenceVersion`.
     * Ignore a value whose version is lower than the last one you saw.
     */
    version?: number | undefined
  }
}

/** Events that webhooks are sent, with their data. */
export interface WebhookEvents {
  /** A message was sent. */
  'message.new': {
    /** Id of the channel. */
    channelId: string
    message: Message
    /** For a reply: the root of its thread, whose `rev` becomes that of this event. */
    parent?: {
      /** Id of the message. */
      id: string
      /** How many replies it has now, without deleted ones. */
      replyCount: number
    } | undefined
    /**
     * `seq` of the author's read position after this message: the message itself if they had read
     * everything before it. Absent in system messages.
     */
    authorLastReadSeq?: number | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A message was edited, pinned or unpinned, or its link previews are ready. */
  'message.updated': {
    /** Id of the channel. */
    channelId: string
    message: Message
    /** Who pinned it and when, if this is what has changed. */
    pin?: {
      /** The user who pinned it. */
      pinnedBy: string
      /** When it was pinned. */
      pinnedAt: string
    } | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A message was deleted. */
  'message.deleted': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** Number of the message in the channel; it is not used again. */
    seq: number
    /** When it was deleted. */
    deletedAt: string
    /** For a reply: the root of its thread, whose `rev` becomes that of this event. */
    parent?: {
      /** Id of the message. */
      id: string
      /** How many replies it has now, without deleted ones. */
      replyCount: number
    } | undefined
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A user reacted to a message. */
  'reaction.added': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The reaction that was added or removed. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** The user who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A user removed a reaction. */
  'reaction.removed': {
    /** Id of the channel. */
    channelId: string
    /** Id of the message. */
    messageId: string
    /** The reaction that was added or removed. */
    reaction: {
      /** The emoji. */
      type: string
      /** The user's id in your own system. */
      userId: string
    }
    /** The user who reacted. */
    user: UserSummary
    /** All reactions to the message after the change; `own` is false. */
    reactions: Reaction[]
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A user became a member. */
  'channel.member_joined': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /** Your own metadata. */
    custom: CustomMember & Record<string, unknown>
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** A user is no longer a member. Ends their subscription. */
  'channel.member_left': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** The role or the metadata of a member changed. */
  'channel.member_updated': {
    /** Id of the channel. */
    channelId: string
    /** The user's id in your own system. */
    userId: string
    user: UserSummary
    role: Role
    /** How many members the channel has now. */
    memberCount: number
    /** Your own metadata. */
    custom: CustomMember & Record<string, unknown>
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** Name, image, description, metadata or whether it is frozen changed. */
  'channel.updated': {
    /** Id of the channel. */
    channelId: string
    channel: ChannelProfile
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** The channel was deleted. Ends every subscription. */
  'channel.deleted': {
    /** Id of the channel. */
    channelId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /**
     * Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an
     * event and a copy of the message, the higher one is newer.
     */
    rev: number
  }
  /** The user became a member of a channel. */
  'channel.added': {
    /** The channel as the user sees it. */
    channel: {
      /** Id of the channel. */
      id: string
      /** Readable identifier, `<type>:<slug>`. */
      cid: string
      /** Name of the channel; for a direct message the other member's name. */
      name: string
      type: ChannelType
      /** Image URL. */
      image: string | null
      /** What the channel is about. */
      description: string | null
      /** The workspace it is in. */
      workspaceId: string | null
      /** The user who created it. */
      createdBy: string
      /** How many members it has. */
      memberCount: number
      /** Unread messages for the caller. */
      unreadCount: number
      /** Version of `unreadCount`. Ignore counts with a lower one than the last seen. */
      unreadVersion: number
      /** `seq` of the caller's read position; 0 if nothing was read. */
      lastReadSeq: number
      /** The caller's role; null if not a member. */
      role: Role | null
      /** Whether the caller starred it. */
      starred: boolean
      /** Whether the caller muted it. */
      muted: boolean
      /** Revision of the channel: goes up by 1 with each durable event. */
      rev: number
      /**
       * The first 100 members, or as many as there is room for. Present in a single channel, and
       * for direct messages in lists.
       */
      members?: Member[] | undefined
      /** Whether only the backend may send messages. */
      frozen: boolean
      /** Your own metadata. */
      custom: CustomChannel & Record<string, unknown>
      /** When it was created. */
      createdAt: string
      /** When its name, image, description, metadata or frozen last changed. */
      updatedAt: string
    }
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /** The user whom the event is for. */
    userId: string
  }
  /** The user is no longer a member of a channel. */
  'channel.removed': {
    /** Id of the channel. */
    channelId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /** The user whom the event is for. */
    userId: string
  }
  /** The user is no longer a member of a workspace. */
  'workspace.removed': {
    /** Id of the workspace. */
    workspaceId: string
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /** The user whom the event is for. */
    userId: string
  }
  /** The user starred or muted a channel. Keeps the user's devices in sync. */
  'channel.settings_changed': {
    /** Id of the channel. */
    channelId: string
    /** Whether the user starred it. */
    starred: boolean
    /** Whether the user muted it. */
    muted: boolean
    /**
     * Present if the app's backend did it with its API key: for itself, or as the user whom the
     * event names.
     */
    via?: 'backend' | undefined
    /** The user whom the event is for. */
    userId: string
  }
  /** A test of the webhook. Sent whatever its events are. */
  'webhook.test': {
    /** Id of the webhook. */
    webhookId: string
  }
}

/** A channel that all members have left. */
export interface AbandonedChannel {
  /** Id of the channel. */
  id: string
  type: ChannelType
  /** Its name; null for a direct message. */
  name: string | null
  /** The workspace it belongs to. */
  workspaceId: string | null
  /** When it was created. */
  createdAt: string
  /** When the last message was sent, or the last member left. */
  lastActivityAt: string
}

/** A workspace that all members have left. */
export interface AbandonedWorkspace {
  /** Id of the workspace. */
  id: string
  /** Its name. */
  name: string
  /** When it was created. */
  createdAt: string
  /** When it last changed, or the last member left. */
  updatedAt: string
}

/** Who did something. */
export type ActorType = 'operator' | 'key' | 'user' | 'system'

/** An API key of an app, without the key itself. */
export interface ApiKey {
  /** Id of the API key. */
  id: string
  /** What the key is for. */
  name: string | null
  /**
   * What the key may do. `full`: everything. `read`: operations that only read (GET), for the
   * backend itself and not as a user; the export of a user needs `full`. `mint`: `POST /tokens`,
   * without `admin`. Other calls are refused with FORBIDDEN.
   */
  scopes: KeyScope[]
  /** When the key was created. */
  createdAt: string
  /** When it was last used, accurate to about a minute; null: not yet. */
  lastUsedAt: string | null
  /** From when it is refused; null: it does not expire. */
  expiresAt: string | null
}

/** An app (tenant), as the operator sees it. */
export interface App {
  /** Id of the app (tenant). */
  id: string
  /** Name of the app. */
  name: string
  /** Whether its keys, tokens and sockets work. */
  enabled: boolean
  /** When it was disabled; null: it is not. */
  disabledAt: string | null
  settings: AppSettings
  /** Oldest first. */
  keys: ApiKey[]
  /** When the app was created. */
  createdAt: string
}

/** What the operator has set for an app. */
export interface AppSettings {
  /**
   * After how many days a job deletes messages, as if their authors had: tombstones stay. Null:
   * they are kept.
   */
  messageRetentionDays: number | null
  /**
   * Who may administer users by a bearer token: every user (`bearer`), or only holders of an admin
   * token (`server`). Null: as USER_ADMIN_ACCESS says.
   */
  userAdminAccess: UserAdminAccess | null
  /** Calls allowed a minute, counted by each server, or by all together with REDIS_URL. */
  rateLimits: {
    /**
     * Tokens that a key and address may mint a minute; 0: no limit; null: that of the server
     * (RATE_LIMIT_TOKENS).
     */
    tokens: number | null
    /**
     * Messages of a user a minute; 0: no limit; null: that of the server (RATE_LIMIT_MESSAGES).
     */
    messages: number | null
    /**
     * Other calls of a user or key a minute; 0: no limit; null: that of the server
     * (RATE_LIMIT_REQUESTS).
     */
    requests: number | null
    /**
     * Appends of a user to streamed messages a minute; 0: no limit; null: that of the server
     * (RATE_LIMIT_APPENDS).
     */
    appends: number | null
    /**
     * Calls of the whole app a minute; 0: no limit; null: that of the server
     * (RATE_LIMIT_APP_REQUESTS).
     */
    appRequests: number | null
  }
}

/** A file or medium attached to a message. */
export interface Attachment {
  /** `image`, `video`, `audio`, `file`, or another word of your own. */
  type: string
  /** Where to fetch it. */
  url: string
  /** File name or caption. */
  name?: string | undefined
  /** Its media type. */
  mimeType?: string | undefined
  /** Its size in bytes. */
  size?: number | undefined
  /** Width in pixels. */
  width?: number | undefined
  /** Height in pixels. */
  height?: number | undefined
  /** Length of audio or video, in milliseconds. */
  durationMs?: number | undefined
  /** A small picture of it. */
  thumbnailUrl?: string | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomAttachment & Record<string, unknown> | undefined
}

/** An entry of the audit log. */
export interface AuditEntry {
  /** Id of the entry. */
  id: string
  /** When it happened. */
  createdAt: string
  /** The app that it was done in. */
  appId: string | null
  /** Who did it. */
  actor: {
    /** Who did it: the `operator`, an API `key`, a `user`, or a job of the server (`system`). */
    type: ActorType
    /** The API key. */
    keyId: string | null
    /** The user who acted, or the one the key acted as. */
    userId: string | null
  }
  /** The operation that was carried out. */
  operation: string
  /** What it was done to, by ids, and what was set. No content of messages. */
  target: Record<string, unknown>
  /** The `X-Request-Id` of the call. */
  requestId: string | null
}

/** Why one message of a batch was refused. */
export interface BatchError {
  /** What went wrong, for people. */
  message: string
  code: ErrorCode
  /** When to try again, where that helps. */
  retryAfterSeconds?: number | undefined
}

/** What becomes of a message. */
export type BeforeSendAnswer = {
  action: 'allow'
} | {
  action: 'change'
  /** At most 10,000 characters; may be empty if there are attachments. `@name` mentions a user. */
  text?: string | undefined
  attachments?: Attachment[] | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomMessage & Record<string, unknown> | undefined
} | {
  action: 'refuse'
  /** The reason that its author gets. */
  reason: string
}

/** An endpoint that screens the messages of an app before they are stored. */
export interface BeforeSendHook {
  /**
   * Where messages are screened: https, on the default port, at a public address. The operator can
   * allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
   */
  url: string
  onError: OnHookError
  /** How long an answer may take, in milliseconds. */
  timeoutMs: number
  /** When it was set first. */
  createdAt: string
}

/** The before-send hook, with the secret that its signatures are made with. */
export interface BeforeSendHookWithSecret {
  /**
   * Where messages are screened: https, on the default port, at a public address. The operator can
   * allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
   */
  url: string
  onError: OnHookError
  /** How long an answer may take, in milliseconds. */
  timeoutMs: number
  /** When it was set first. */
  createdAt: string
  /** The key of its signatures. */
  secret: string
}

/** A message that is about to be stored, new or edited. */
export interface BeforeSendQuestion {
  /** What is asked. */
  type: 'message.before_send'
  /** When it is asked. */
  timestamp: string
  /** Id of the app (tenant). */
  appId: string
  /** The message as its author sent it, or as it would be after an edit. */
  data: {
    /** Id of the channel. */
    channelId: string
    /** Of an edit: the message that its author changes. */
    messageId?: string | undefined
    /** The author. */
    userId: string
    /**
     * At most 10,000 characters; may be empty if there are attachments. `@name` mentions a user.
     */
    text: string
    /** As sent. */
    attachments: Attachment[]
    /** The message to reply to. */
    parentId?: string | undefined
    /** The message to quote, of the same channel. */
    quotedMessageId?: string | undefined
    /**
     * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
     * deep.
     */
    custom?: CustomMessage & Record<string, unknown> | undefined
    /** Whether it is sent without a push, and counts in no unread count. */
    silent?: boolean | undefined
    /**
     * Your own key for this create. A retry with the same key returns the first result instead of
     * creating a second one.
     */
    clientId?: string | undefined
  }
}

/** A channel as the caller sees it. */
export interface Channel {
  /** Id of the channel. */
  id: string
  /** Readable identifier, `<type>:<slug>`. */
  cid: string
  /** Name of the channel; for a direct message the other member's name. */
  name: string
  type: ChannelType
  /** Image URL. */
  image: string | null
  /** What the channel is about. */
  description: string | null
  /** The workspace it is in. */
  workspaceId: string | null
  /** The user who created it. */
  createdBy: string
  /** How many members it has. */
  memberCount: number
  /** Unread messages for the caller. */
  unreadCount: number
  /** Version of `unreadCount`. Ignore counts with a lower one than the last seen. */
  unreadVersion: number
  /** The newest message. */
  lastMessage: Message | null
  /** `seq` of the caller's read position; 0 if nothing was read. */
  lastReadSeq: number
  /** The caller's role; null if not a member. */
  role: Role | null
  /** Whether the caller starred it. */
  starred: boolean
  /** Whether the caller muted it. */
  muted: boolean
  /** Revision of the channel: goes up by 1 with each durable event. */
  rev: number
  /**
   * The first 100 members, or as many as there is room for. Present in a single channel, and for
   * direct messages in lists.
   */
  members?: Member[] | undefined
  /** Whether only the backend may send messages. */
  frozen: boolean
  /** Your own metadata. */
  custom: CustomChannel & Record<string, unknown>
  /** When it was created. */
  createdAt: string
  /** When its name, image, description, metadata or frozen last changed. */
  updatedAt: string
}

/** What changed in a channel since a `rev`. */
export interface ChannelChanges {
  /**
   * The channel was deleted, or the caller is no member of it. Other fields are set only if they
   * may read it all the same, such as a public one.
   */
  removed?: true | undefined
  /** Too many changes: load the channel from scratch; `messages` is empty. */
  resync?: true | undefined
  /**
   * There are more changes: call again for this channel, with `rev`. Without `channel`, the
   * response had no room for it.
   */
  more?: true | undefined
  /** This response has the changes up to here: pass it in the next call. */
  rev?: number | undefined
  /** The channel now, with membership and read state of the caller. */
  channel?: Channel | undefined
  /**
   * Messages changed since then, including tombstones of deleted ones, in ascending order of `rev`.
   */
  messages?: Message[] | undefined
  /** With `pages`: the newest messages, without deleted ones. */
  page?: {
    /** In ascending order of `seq`. */
    messages: Message[]
    /** Whether there are older messages. */
    hasMore: boolean
  } | undefined
  /** With `roots`: the same without replies. */
  roots?: {
    /** In ascending order of `seq`. */
    messages: Message[]
    /** Whether there are older messages. */
    hasMore: boolean
  } | undefined
  /** With `threads`: those of this channel, by the id of the message above. */
  threads?: Record<string, SyncThread> | undefined
  /** With `pins`: all pinned messages, the latest pin first. */
  pins?: PinnedMessage[] | undefined
  /** With `members`: all members, in the order they joined. */
  members?: SyncMember[] | undefined
}

/** The fields that are the same for every reader. The name of a direct message is both names. */
export interface ChannelProfile {
  /** Id of the channel. */
  id: string
  /** Readable identifier, `<type>:<slug>`. */
  cid: string
  /** Name of the channel; for a direct message the other member's name. */
  name: string
  type: ChannelType
  /** Image URL. */
  image: string | null
  /** What the channel is about. */
  description: string | null
  /** The workspace it is in. */
  workspaceId: string | null
  /** Whether only the backend may send messages. */
  frozen: boolean
  /** Your own metadata. */
  custom: CustomChannel & Record<string, unknown>
  /** When its name, image, description, metadata or frozen last changed. */
  updatedAt: string
}

/**
 * Who the channel is for. `messaging`: two users. `group`, `private`: its members. `team`: the
 * members of a workspace. `livestream`, `public`: everyone.
 */
export type ChannelType = 'messaging' | 'group' | 'team' | 'livestream' | 'public' | 'private'

/** What runs the app. */
export type DevicePlatform = 'ios' | 'android' | 'relay'

/**
 * Which service delivers the push: `fcm` (Android), `apns` (iOS), `relay` (cross-platform mobile).
 */
export type DeviceProvider = 'fcm' | 'apns' | 'relay'

/** What went wrong, for programs. */
export type ErrorCode = 'VALIDATION_ERROR' | 'UNAUTHORIZED' | 'INVALID_TOKEN' | 'FORBIDDEN' | 'APP_DISABLED' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'CONFLICT' | 'PAYLOAD_TOO_LARGE' | 'RATE_LIMITED' | 'INTERNAL_ERROR' | 'UNAVAILABLE'

/** The type of an event, or `message.*` for all about messages, or `*` for all. */
export type EventPattern = '*' | 'message.*' | 'reaction.*' | 'channel.*' | 'workspace.*' | 'message.new' | 'message.updated' | 'message.deleted' | 'reaction.added' | 'reaction.removed' | 'channel.member_joined' | 'channel.member_left' | 'channel.member_updated' | 'channel.updated' | 'channel.deleted' | 'channel.added' | 'channel.removed' | 'workspace.removed' | 'channel.settings_changed'

/** One thing that is stored about a user. */
export interface ExportItem {
  /** What it is. */
  kind: 'profile' | 'device' | 'preferences' | 'workspace' | 'membership' | 'message' | 'reaction' | 'read' | 'pin' | 'formerMembership' | 'invite' | 'inviteUse'
  /** The thing itself, with ids of what it belongs to. No tokens of devices. */
  data: Record<string, unknown>
}

/** A channel, which nobody sees until it is whole. */
export interface ImportedChannel {
  /** A channel. */
  record: 'channel'
  /** Id of the channel in the system that it comes from. */
  id: string
  /** The type of the channel. `messaging` is a direct message of `memberIds`. */
  type: 'messaging' | 'group' | 'livestream' | 'public' | 'private'
  /** Required, except for direct messages. */
  name?: string | undefined
  /** What the channel is about. */
  description?: string | undefined
  /** Image URL. */
  image?: string | undefined
  /** The user who created it; default: the backend. */
  createdBy?: string | undefined
  /** The two users of a direct message; not allowed for other types. */
  memberIds?: string[] | undefined
  /** Whether only the backend may send. */
  frozen?: boolean | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomChannel & Record<string, unknown> | undefined
  /** When it was created. */
  createdAt: string
}

/** A member of a channel. */
export interface ImportedMember {
  /** A member of a channel. */
  record: 'member'
  /** Id of the channel in the system that it comes from. */
  channelId: string
  /** The user's id in your own system. */
  userId: string
  role?: Role | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomMember & Record<string, unknown> | undefined
  /** When the user joined. */
  joinedAt: string
}

/** A message. */
export interface ImportedMessage {
  /** A message. */
  record: 'message'
  /** Id of the message in the system that it comes from. */
  id: string
  /** Id of the channel in the system that it comes from. */
  channelId: string
  /** The author; absent for a system message. */
  userId?: string | undefined
  type?: MessageType | undefined
  /** At most 10,000 characters. */
  text?: string | undefined
  /** At most 30. */
  attachments?: Attachment[] | undefined
  /** The message that this one replies to. */
  parentId?: string | undefined
  /** The message that this one quotes; ignored if it is not there. */
  quotedMessageId?: string | undefined
  /** Whether it counts in no unread count. */
  silent?: boolean | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomMessage & Record<string, unknown> | undefined
  /** When it was sent. */
  createdAt: string
  /** When its author last edited the text. */
  editedAt?: string | undefined
}

/** A pinned message. */
export interface ImportedPin {
  /** A pinned message. */
  record: 'pin'
  /** Id of the message in the system that it comes from. */
  messageId: string
  /** The user who pinned it. */
  userId: string
  /** When it was pinned. */
  createdAt: string
}

/** A reaction to a message. */
export interface ImportedReaction {
  /** A reaction to a message. */
  record: 'reaction'
  /** Id of the message in the system that it comes from. */
  messageId: string
  /** The user's id in your own system. */
  userId: string
  /**
   * The emoji, or a short word: at most 64 bytes of UTF-8 in NFC, without spaces and control
   * characters; not "." or "..".
   */
  emoji: string
  /** When the user reacted. */
  createdAt: string
}

/** The read position of a member. A member without one has no unread messages. */
export interface ImportedRead {
  /** A read position. */
  record: 'read'
  /** Id of the channel in the system that it comes from. */
  channelId: string
  /** The user's id in your own system. */
  userId: string
  /** The last message that the member has read. */
  messageId: string
  /** When they read it. */
  createdAt: string
}

/** A user. One who exists is not changed. */
export interface ImportedUser {
  /** A user. */
  record: 'user'
  /** The user's id in your own system. */
  id: string
  /** Display name. */
  name?: string | null | undefined
  /** E-mail address. */
  email?: string | null | undefined
  /** Avatar URL. */
  image?: string | null | undefined
  /**
   * Your own metadata: at most 16 KB of JSON, with all digits of numbers, nested at most 20 levels
   * deep.
   */
  custom?: CustomUser & Record<string, unknown> | null | undefined
  /** When the user was created; default: now. */
  createdAt?: string | undefined
}

/** One line of an import: what it is, by `record`. */
export type ImportRecord = ImportedUser | ImportedChannel | ImportedMember | ImportedMessage | ImportedReaction | ImportedPin | ImportedRead

/** What an import has done. */
export interface ImportReport {
  /** Lines read. */
  lines: number
  /**
   * Whether the channels of the import can be seen. False after an empty import, and one whose last
   * line is cut off: send it again, whole.
   */
  isFinished: boolean
  /** What is new. */
  imported: {
    /** Users. */
    users: number
    /** Channels. */
    channels: number
    /** Members. */
    members: number
    /** Messages. */
    messages: number
    /** Reactions. */
    reactions: number
    /** Pins. */
    pins: number
    /** Read positions. */
    reads: number
  }
  /** What was there already. */
  skipped: {
    /** Users. */
    users: number
    /** Channels. */
    channels: number
    /** Members. */
    members: number
    /** Messages. */
    messages: number
    /** Reactions. */
    reactions: number
    /** Pins. */
    pins: number
    /** Read positions. */
    reads: number
  }
  /** Records that were not imported. */
  refused: number
  /** The first 1,000 of them, by line. */
  refusals: {
    /** Number of the line, from 1. */
    line: number
    /** Why. */
    reason: string
  }[]
  /**
   * Channels of this and earlier imports that wait for the rest of their files, which are to be
   * sent again, whole: the first 100.
   */
  unfinishedChannelIds: string[]
}

/** A channel, as the operator sees it. */
export interface InspectedChannel {
  /** Id of the channel. */
  id: string
  /** Readable identifier, `<type>:<slug>`. */
  cid: string
  type: ChannelType
  /** Its own name. */
  name: string | null
  /** The two users of a direct message, which has no name; null in others. */
  directUserIds: string[] | null
  /** The workspace of a team channel. */
  workspaceId: string | null
  /** Who created it. */
  createdBy: string
  /** Only the backend may send. */
  frozen: boolean
  /** How many members it has. */
  memberCount: number
  /** The `seq` of its last message. */
  lastSeq: number
  /** When the last message was sent. */
  lastActivityAt: string
  /** When it was created. */
  createdAt: string
  /** Whether the user that was asked for has muted it; null without `userId`. */
  muted: boolean | null
}

/** An invite, without its secret. */
export interface Invite {
  /** Id of the invite. */
  id: string
  /** The role of users who join with it. */
  role: WorkspaceRole
  /** How many users have joined with it. */
  uses: number
  /** How many users may join with it; null: no limit. */
  maxUses: number | null
  /** The user's id in your own system. */
  createdBy: string
  /** When it was created. */
  createdAt: string
  /** When it expires. */
  expiresAt: string
}

/** What a key may do. */
export type KeyScope = 'full' | 'read' | 'mint'

/** A summary of the page behind a URL in a message. */
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
  role: Role
  /** Your own metadata. */
  custom: CustomMember & Record<string, unknown>
  /** When the user joined. */
  joinedAt: string
}

/** A message, the same in responses and in events. */
export interface Message {
  /** Id of the message. */
  id: string
  /** Id of the channel. */
  channelId: string
  type: MessageType
  /** The author; `parley.system` of system messages. */
  userId: string
  /** May contain @mentions; empty if the message was deleted. */
  text: string
  /** Number of the message in its channel: 1, 2, 3 … without a gap. */
  seq: number
  /** The channel's revision at the message's last change. */
  rev: number
  /** The author. */
  user: UserSummary
  /** The emoji used first comes first. */
  reactions: Reaction[]
  /**
   * The first 100 names mentioned in the text, without @, in order, as written: there may be no
   * such user.
   */
  mentions: string[]
  /** As sent. */
  attachments: Attachment[]
  /** Present once a background job has made them. */
  linkPreviews?: LinkPreview[] | undefined
  /** For a reply: the root message of its thread. */
  parentId: string | null
  /**
   * Present if it quotes a message: that one as it is now, and in an event as it was then. What
   * happens to it later is in its own events: clients change their quotes by them.
   */
  quotedMessage?: QuotedMessage | undefined
  /** How many replies the thread of this message has, without deleted ones. */
  replyCount: number
  /** Whether the message is pinned. */
  pinned: boolean
  /** Present if it counts in no unread count. */
  silent?: true | undefined
  /** Present if it was sent in parts: true while its text grows, false once that has ended. */
  streaming?: boolean | undefined
  /**
   * Present if its author stopped sending parts without finishing it, and has not edited the text
   * since.
   */
  interrupted?: true | undefined
  /** Your own metadata. Absent if there is none. */
  custom?: CustomMessage & Record<string, unknown> | undefined
  /** The sender's own key for this message. */
  clientId: string | null
  /** When it was sent. */
  createdAt: string
  /** When its content last changed. */
  updatedAt: string
  /** When its author last edited the text. */
  editedAt: string | null
  /** When it was deleted: set on the tombstone of a deleted message. */
  deletedAt: string | null
}

/** A message to send, with a key of its own. */
export interface MessageDraft {
  /** At most 10,000 characters; may be empty if there are attachments. `@name` mentions a user. */
  text: string
  /** At most 30. */
  attachments?: Attachment[] | undefined
  /** The message to reply to. */
  parentId?: string | undefined
  /** The message to quote, of the same channel. */
  quotedMessageId?: string | undefined
  /**
   * Your own metadata: at most 8 KB of JSON, with all digits of numbers, nested at most 10 levels
   * deep.
   */
  custom?: CustomMessage & Record<string, unknown> | undefined
  /** `regular` for users, `system` for the backend: the only ones they may send. */
  type?: MessageType | undefined
  /** Whether it is sent without a push, and counts in no unread count. */
  silent?: boolean | undefined
  /**
   * Your own key for this create. A retry with the same key returns the first result instead of
   * creating a second one.
   */
  clientId: string
}

/** `regular`: written by a user. `system`: sent by the backend. */
export type MessageType = 'regular' | 'system'

/**
 * What becomes of a message if no usable answer comes in time: it is stored as it is (`allow`), or
 * refused with FORBIDDEN (`deny`).
 */
export type OnHookError = 'allow' | 'deny'

/** A pinned message. */
export interface PinnedMessage {
  /** Id of the message. */
  id: string
  /** Id of the channel. */
  channelId: string
  type: MessageType
  /** The author; `parley.system` of system messages. */
  userId: string
  /** May contain @mentions; empty if the message was deleted. */
  text: string
  /** Number of the message in its channel: 1, 2, 3 … without a gap. */
  seq: number
  /** The channel's revision at the message's last change. */
  rev: number
  /** The author. */
  user: UserSummary
  /** The emoji used first comes first. */
  reactions: Reaction[]
  /**
   * The first 100 names mentioned in the text, without @, in order, as written: there may be no
   * such user.
   */
  mentions: string[]
  /** As sent. */
  attachments: Attachment[]
  /** Present once a background job has made them. */
  linkPreviews?: LinkPreview[] | undefined
  /** For a reply: the root message of its thread. */
  parentId: string | null
  /**
   * Present if it quotes a message: that one as it is now, and in an event as it was then. What
   * happens to it later is in its own events: clients change their quotes by them.
   */
  quotedMessage?: QuotedMessage | undefined
  /** How many replies the thread of this message has, without deleted ones. */
  replyCount: number
  /** Whether the message is pinned. */
  pinned: boolean
  /** Present if it counts in no unread count. */
  silent?: true | undefined
  /** Present if it was sent in parts: true while its text grows, false once that has ended. */
  streaming?: boolean | undefined
  /**
   * Present if its author stopped sending parts without finishing it, and has not edited the text
   * since.
   */
  interrupted?: true | undefined
  /** Your own metadata. Absent if there is none. */
  custom?: CustomMessage & Record<string, unknown> | undefined
  /** The sender's own key for this message. */
  clientId: string | null
  /** When it was sent. */
  createdAt: string
  /** When its content last changed. */
  updatedAt: string
  /** When its author last edited the text. */
  editedAt: string | null
  /** When it was deleted: set on the tombstone of a deleted message. */
  deletedAt: string | null
  /** The user who pinned it. */
  pinnedBy: string
  /** When it was pinned. */
  pinnedAt: string
}

/** What a user wants to be notified about. */
export interface Preferences {
  /** Any push notification at all. */
  pushEnabled: boolean
  /** New messages in channels that are not muted. */
  newMessages: boolean
  /** Being mentioned. */
  mentions: boolean
  /** Reactions to your own messages. */
  reactions: boolean
  /** Being added to a channel. */
  channelInvites: boolean
  /** Replies in threads you take part in. */
  threadReplies: boolean
  /** Whether notifications are dropped during quiet hours. */
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
  /** Any push notification at all. */
  pushEnabled?: boolean | undefined
  /** New messages in channels that are not muted. */
  newMessages?: boolean | undefined
  /** Being mentioned. */
  mentions?: boolean | undefined
  /** Reactions to your own messages. */
  reactions?: boolean | undefined
  /** Being added to a channel. */
  channelInvites?: boolean | undefined
  /** Replies in threads you take part in. */
  threadReplies?: boolean | undefined
  /** Whether notifications are dropped during quiet hours. */
  quietHoursEnabled?: boolean | undefined
  /** First minute of the quiet hours. */
  quietHoursStart?: string | undefined
  /** First minute after the quiet hours. */
  quietHoursEnd?: string | undefined
  /** IANA time zone of the quiet hours. */
  timezone?: string | undefined
}

/** What a message shows of one that it quotes. */
export interface QuotedMessage {
  /** Id of the message. */
  id: string
  /** Its number in the channel. */
  seq: number
  /** Its `rev`: of two copies, the one with the higher one is newer. */
  rev: number
  /** Its author. */
  userId: string
  /** Its author. */
  user: UserSummary
  /** The first 200 characters; empty if it was deleted. */
  text: string
  /** How many attachments it has. */
  attachmentCount: number
  /** The type of the first of them. */
  attachmentType: string | null
  /** When it was deleted. */
  deletedAt: string | null
}

/** One emoji on a message and the users who reacted with it. */
export interface Reaction {
  /** The emoji. */
  type: string
  /** How many users reacted with it. */
  count: number
  /** Whether the caller is one of them; always false in events. */
  own: boolean
  /**
   * The first 10 of them, or fewer: all reactions to a message show users of at most 64 KB, the
   * first of each emoji first.
   */
  users: UserSummary[]
}

/** A user who has read a message, and when. */
export interface Reader {
  /** The user's id in your own system. */
  userId: string
  /** Display name; the id if none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** When the user's read position reached the message. */
  readAt: string
}

/** How far a member has read. */
export interface ReadStatus {
  /** The user's id in your own system. */
  userId: string
  /** Display name; the id if none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /** The message at the read position; null if nothing was read. */
  lastReadMessageId: string | null
  /** `seq` of the read position; 0 if nothing was read. */
  lastReadSeq: number
}

/** Role in the channel. */
export type Role = 'owner' | 'moderator' | 'member'

/** The call was carried out. */
export interface Success {
  /** Always true: a failure is an error response. */
  success: boolean
}

/** A member, how far they have read, and whether they are online. */
export interface SyncMember {
  /** The user's id in your own system. */
  userId: string
  user: UserSummary
  role: Role
  /** Your own metadata. */
  custom: CustomMember & Record<string, unknown>
  /** When the user joined. */
  joinedAt: string
  /** `seq` of the read position; 0 if nothing was read. */
  lastReadSeq: number
  /** Whether the user is connected. */
  online: boolean
  /**
   * Version of whether the user is online: in events `version`, in users `presenceVersion`. Ignore
   * a value whose version is lower than the last one you saw.
   */
  presenceVersion: number
  /**
   * When the user last got a token, sent or read a message, or was connected; accurate to one
   * minute.
   */
  lastActiveAt: string | null
}

/** The newest replies to a message, and the message. */
export interface SyncThread {
  /** Absent if it was deleted. */
  parent?: Message | undefined
  /** In ascending order of `seq`. */
  messages: Message[]
  /** Whether there are older messages. */
  hasMore: boolean
}

/** What a front end needs to chat as one user. */
export interface TokenResult {
  /** Bearer token for the user API. */
  token: string
  /** Token for the WebSocket connection. */
  wsToken: string
  /** The user the tokens are for. */
  user: {
    /** The user's id in your own system. */
    id: string
    /** Display name; the id if none is set. */
    name: string
    /** Avatar URL. */
    image: string | null
    /** Present if it is known. */
    email?: string | undefined
  }
  /** How long both tokens are valid, in seconds. */
  expiresIn: number
  /** Id of the app (tenant). */
  appId: string
  /** Address of the WebSocket endpoint. */
  wsUrl: string
}

/** A user in lists. */
export interface User {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id if none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /**
   * When the user last got a token, sent or read a message, or was connected; accurate to one
   * minute.
   */
  lastActiveAt: string | null
  /** Whether the user is connected. */
  online: boolean
  /**
   * Version of whether the user is online: in events `version`, in users `presenceVersion`. Ignore
   * a value whose version is lower than the last one you saw.
   */
  presenceVersion: number
}

/** Who may administer users by a bearer token. */
export type UserAdminAccess = 'bearer' | 'server'

/** A user with metadata. */
export interface UserDetails {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id if none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
  /**
   * When the user last got a token, sent or read a message, or was connected; accurate to one
   * minute.
   */
  lastActiveAt: string | null
  /** Whether the user is connected. */
  online: boolean
  /**
   * Version of whether the user is online: in events `version`, in users `presenceVersion`. Ignore
   * a value whose version is lower than the last one you saw.
   */
  presenceVersion: number
  /** Your own metadata. */
  custom: CustomUser & Record<string, unknown>
  /** E-mail address: only for the user and for backends. */
  email?: string | null | undefined
}

/** One user of a synchronisation. */
export interface UserInput {
  /** The user's id in your own system. */
  id: string
  /** Display name. */
  name?: string | null | undefined
  /** E-mail address. */
  email?: string | null | undefined
  /** Avatar URL. */
  image?: string | null | undefined
  /**
   * Your own metadata: at most 16 KB of JSON, with all digits of numbers, nested at most 20 levels
   * deep.
   */
  custom?: CustomUser & Record<string, unknown> | null | undefined
}

/** A user as shown next to what they wrote or did. */
export interface UserSummary {
  /** The user's id in your own system. */
  id: string
  /** Display name; the id if none is set. */
  name: string
  /** Avatar URL. */
  image: string | null
}

/** An endpoint that is sent the events of an app. */
export interface Webhook {
  /** Id of the webhook. */
  id: string
  /**
   * Where deliveries are sent: https, on the default port, at a public address. The operator can
   * allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
   */
  url: string
  /** The events that it is sent. */
  events: EventPattern[]
  /** What it is for; null if not given. */
  description: string | null
  /** Whether events are sent to it. While disabled it gets none; a replay sends those of 24 h. */
  enabled: boolean
  /**
   * Why the server disabled it: nothing succeeded for 5 days (`failing`), or it answered 410
   * (`gone`). Null if it did not.
   */
  disabledReason: WebhookDisabledReason | null
  /** Since when deliveries have failed; null if the last one succeeded. */
  failingSince: string | null
  /** When it was created. */
  createdAt: string
}

/** An event on its way to a webhook. */
export interface WebhookDelivery {
  /** Id of the delivery. */
  id: string
  /** The `webhook-id` header that the receiver gets, the same in each attempt. */
  headerId: string
  /** The type of the event. */
  eventType: string
  /** The channel of the event; null: it is of a user, or a test. */
  channelId: string | null
  /** The message of the event, while the event is kept; null: it is of none. */
  messageId: string | null
  /**
   * `pending`: those after it in its channel wait for it. `retrying`: it failed several times, is
   * tried again later, and holds nothing up. `failed`: it was given up.
   */
  status: 'pending' | 'retrying' | 'delivered' | 'failed'
  /** How often it was sent. */
  attempts: number
  /** The status of the last answer; null: none came. */
  responseStatus: number | null
  /** Why the last attempt failed; null if it did not. */
  error: string | null
  /** When it is sent, at the earliest; null: no more. */
  nextAttemptAt: string | null
  /** Whether one before it in its channel must be sent first, or given up. */
  waitsForEarlier: boolean
  /** When the delivery was made, soon after its event. */
  createdAt: string
}

/** Why the server disabled a webhook. */
export type WebhookDisabledReason = 'failing' | 'gone'

/** A webhook, with the secret that its signatures are made with. */
export interface WebhookWithSecret {
  /** Id of the webhook. */
  id: string
  /**
   * Where deliveries are sent: https, on the default port, at a public address. The operator can
   * allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.
   */
  url: string
  /** The events that it is sent. */
  events: EventPattern[]
  /** What it is for; null if not given. */
  description: string | null
  /** Whether events are sent to it. While disabled it gets none; a replay sends those of 24 h. */
  enabled: boolean
  /**
   * Why the server disabled it: nothing succeeded for 5 days (`failing`), or it answered 410
   * (`gone`). Null if it did not.
   */
  disabledReason: WebhookDisabledReason | null
  /** Since when deliveries have failed; null if the last one succeeded. */
  failingSince: string | null
  /** When it was created. */
  createdAt: string
  /** The key of its signatures. Shown only in this response. */
  secret: string
}

/** A workspace as one of its members sees it. */
export interface Workspace {
  /** Id of the workspace. */
  id: string
  /** Name of the workspace. */
  name: string
  /** Kind of workspace: a word of your own. */
  type: string
  /** Image URL. */
  image: string | null
  /**
   * How many members it has, at most 10,000: more are not counted. In a list of more than 10
   * workspaces each is counted up to 100,000 divided by their number.
   */
  memberCount: number
  /**
   * How many channels belong to it, at most 10,000: more are not counted. In a list of more than 10
   * workspaces each is counted up to 100,000 divided by their number.
   */
  channelCount: number
  /** The caller's role. */
  role: WorkspaceRole
  /** Whether it is the workspace that the caller joined first. */
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
  role: WorkspaceRole
  /** When the user joined. */
  joinedAt: string
}

/** Role in the workspace. */
export type WorkspaceRole = 'owner' | 'admin' | 'member'
