/**
 * The numbers that callers can run into. Sizes are characters (code points) unless the name says
 * bytes.
 */
export const limits = {
  apiVersion: '0.2.0',
  tokenLifetimeSeconds: 86_400,
  /** How long another server may still accept a revoked token or a deleted API key. */
  revocationSeconds: 5,
  preflightMaxAgeSeconds: 86_400,
  deleteWindowSeconds: 15 * 60,
  rateWindowSeconds: 60,
  rates: { tokens: 100, messages: 60, requests: 1_000, appends: 3_000 },
  /** How long background jobs that were given up are kept for the operator. */
  givenUpJobDays: 7,
  /** How many subjects of a given-up job are listed. */
  jobThingsShown: 10,
  bodyBytes: 256 * 1024,
  syncBodyBytes: 4 * 1024 * 1024,
  /**
   * A body may contain one JSON value (an object, a list, a string, a number) for every `bytesEach`
   * bytes of its size limit, up to a maximum: parsing values costs far more than reading bytes.
   */
  bodyValues: { bytesEach: 12, most: 100_000 },
  /** The most messages of a batch that one caller sends, and the size of its body. */
  messageBatch: { messages: 50, bodyBytes: 1024 * 1024 },
  /**
   * The most bytes of messages, channels, members, users, readers, workspaces, apps or jobs in an
   * answer; the rest is for the next page. The most bytes of events in a history, in the recoveries
   * of a frame, and in a read of gaps. One of these that is larger is answered alone.
   */
  answerBytes: 1024 * 1024,
  /** The most calls of one tRPC request. */
  callsPerBatch: 20,
  /** Once the answers of a tRPC request have this many bytes, its further reads are refused. */
  batchAnswerBytes: 4 * 1024 * 1024,
  /**
   * The most calls of a user that use the database at once, and of a user and of an app that may
   * wait. An app uses at most half of a server's connections, and a user at most half of those,
   * rounded up; of three or more, a user leaves at least one to others.
   */
  callsAtOnce: { user: 8, userWaiting: 200, appWaiting: 1_000 },
  /**
   * The most messages, or marks of what was read, that share one transaction, and the most that
   * wait for one of those that an app has at a time: two of messages, one of marks. A channel, or a
   * member, takes at most half of the places.
   */
  sharedTransactions: {
    batch: { commands: 64, bytes: 1024 * 1024 },
    waiting: { commands: 4_000, bytes: 16 * 1024 * 1024 },
  },
  page: {
    channels: { default: 50, max: 100 },
    users: { default: 50, max: 100 },
    workspaces: { default: 100, max: 100 },
    messages: { default: 100, max: 200 },
    invites: { default: 50, max: 100 },
    abandoned: { default: 50, max: 100 },
    deliveries: { default: 50, max: 100 },
    audit: { default: 100, max: 200 },
  },
  /** The most API keys of an app. */
  apiKeys: 100,
  appSettings: { callsPerMinute: 1_000_000, messageRetentionDays: 36_500 },
  usage: {
    /** Up to how many rows of a kind are counted; beyond, they are estimated. */
    counted: 10_000,
    days: { default: 30, max: 90 },
    /** How long the numbers of active users are kept. */
    keptDays: 400,
  },
  auditOperationLength: 64,
  /** How many entries of the audit log a call looks at, for those that match. */
  auditSlice: 2_000,
  /** How many channels or messages a search of the operator looks at in a call. */
  inspectSlice: 1_000,
  /** How many bytes of texts such a search looks at. One more text may begin within them. */
  inspectSliceBytes: 2 * 1024 * 1024,
  /** The most things in one page of the export of a user. */
  exportPage: 200,
  /** For how many hours the pages after the first of an export can be read. */
  exportHours: 24,
  /** How many streams of exports an API key has at once, with each process. */
  exportsAtOnce: 4,
  userIdLength: 255,
  nameLength: 255,
  /** A cursor holds a name and an id. */
  cursorLength: 4_096,
  descriptionLength: 2_000,
  urlLength: 2_048,
  emailLength: 320,
  clientIdLength: 128,
  customBytes: 16 * 1024,
  customDepth: 20,
  /** Metadata of messages, channels, members and attachments. */
  customData: { bytes: 8 * 1024, depth: 10 },
  mimeTypeLength: 255,
  textLength: 10_000,
  /** How much of a message a quote shows. */
  quotedTextLength: 200,
  linkPreviews: 3,
  linkPreview: { titleLength: 300, descriptionLength: 1_000, siteNameLength: 100 },
  attachments: 30,
  /** How many of the names in a text count as mentioned. */
  mentions: 100,
  attachmentTypeLength: 32,
  emojiBytes: 64,
  reactionKinds: 50,
  reactionUsers: 10,
  /** The most bytes of the users that all reactions to a message show. */
  reactionUserBytes: 64 * 1024,
  pins: 100,
  /** The number of latest replies of a thread whose authors get its pushes. */
  threadReplies: 500,
  membersPerCall: 1_000,
  /**
   * The most bytes of the events of new members in a call. Each of them is sent the whole channel,
   * so that only about 200 can be added at once to one with as much metadata as allowed.
   */
  newMembersBytes: 4 * 1024 * 1024,
  /** The most members that one call gives the same metadata. */
  membersWithCustomPerCall: 100,
  membersShown: 100,
  typingSeconds: 6,
  /** How long after a user's last connection ends they go offline, unless configured. */
  presenceGraceSeconds: 15,
  /**
   * A channel with more members is large: typing and read positions are not sent to its other
   * members, and sharing it does not make users co-members.
   */
  largeChannelMembers: 100,
  /** The most channels of a user whose members are sent that user's presence and profile. */
  coMemberChannels: 1_000,
  realtime: {
    frameBytes: 1024 * 1024,
    /** A frame may hold many commands, each at most this long. */
    commandBytes: 4 * 1024,
    topicsPerSocket: 1_000,
    /** The most subscriptions of a tRPC socket to one topic: each is sent the topic's events. */
    subscriptionsPerTopic: 10,
    /** The most bytes from all sockets of a server whose token was not verified yet. */
    strangersBytes: 64 * 1024 * 1024,
    /** The most sockets of a user on one server, unless configured. */
    socketsPerUser: 20,
    bufferedBytes: 1024 * 1024,
    /** The memory of a server for the latest events of all topics, unless configured. */
    eventMemoryMb: 128,
    /** The memory of a server for what its sockets have not written, unless configured. */
    sendMemoryMb: 256,
    /**
     * A server without a heartbeat for this long keeps nobody online, even if there is no other
     * that has found it dead.
     */
    nodeDeadSeconds: 45,
    /**
     * The most events of one topic that a reconnect or a history command can get. A client that
     * missed more, in number or in `answerBytes`, has to fetch the state again.
     */
    recoverable: 5_000,
    /** How much a socket can recover at once, and then in a second, in any number of frames. */
    recoveries: { burstBytes: 8 * 1024 * 1024, bytesPerSecond: 256 * 1024 },
  },
  usersPerCall: 1_000,
  receiptsPerCall: 200,
  readersShown: 100,
  devices: 25,
  deviceIdLength: 255,
  /** Much longer ones may not fit an entry of an index. */
  deviceTokenBytes: 2_048,
  timezoneLength: 64,
  workspaceTypeLength: 32,
  /**
   * The most members, and the most channels, that are counted of a workspace, and of all those of a
   * page.
   */
  workspaceCounted: { each: 10_000, all: 100_000 },
  invite: { maxUses: 10_000, expiresInDays: { default: 7, max: 365 } },
  /** How many invites a call looks at, to find those that are valid. */
  invitesSlice: 2_000,
  /** How many channels or workspaces a call looks at, to find those without members. */
  abandoned: { slice: 1_000 },
  sync: {
    channels: 200,
    changes: 2_000,
    messages: 1_500,
    /** The most channels and threads that a call returns parts of, and how many of these. */
    rooms: 10,
    threads: 10,
    pageMessages: 50,
    members: 1_000,
    users: 100,
  },
  eventsKeptHours: 24,
  webhooks: {
    /** The most webhooks of an app. */
    most: 20,
    /** How long the secret before a rotation signs too, also that of a before-send hook. */
    rotationHours: 24,
    /** After how many days without a delivery that succeeds a webhook is disabled. */
    failingDays: 5,
    deliveriesKeptHours: 48,
  },
  beforeSend: {
    timeoutMs: { min: 100, default: 1_500, max: 2_000 },
    /** The most messages and edits of an app that wait for its hook, on one server. */
    atOnce: 200,
    /** The most of one user: the messages of a batch that are screened at once, and some more. */
    atOnceOfUser: 40,
  },
  streams: {
    /** After how many seconds without an append a message that grows is interrupted. */
    quietSeconds: 30,
    /** After how many seconds it is interrupted, whatever is appended. */
    longestSeconds: 3_600,
    /** How often a message that grows is stored, at most. */
    storeSeconds: 1,
    /** How often a large channel is sent what was appended, at most. */
    deltaSeconds: 0.1,
  },
  imports: {
    /** The longest id of a channel or message in the system that it comes from. */
    idLength: 255,
    lineBytes: 256 * 1024,
    /** The most lines and bytes that share a transaction. */
    batch: { lines: 500, bytes: 1024 * 1024 },
    /** How long the next line may take. */
    stalledSeconds: 20,
    /** How long an import that was killed keeps others of its app out. */
    leaseSeconds: 60,
    refusalsShown: 1_000,
    unfinishedShown: 100,
    /** How many characters of a reason are shown. */
    reasonLength: 500,
    /** After how many days the channels of an unfinished import are deleted. */
    unfinishedDays: 7,
  },
  readMarksKeptDays: 90,
  largestInteger: 2_147_483_647,
} as const

/** A number as published text shows it: 1000 as `1,000`. */
export const grouped = (value: number) => value.toLocaleString('en-US')
export const megabytes = (bytes: number) => `${bytes / 1024 / 1024} MB`
/** The sentence about large rows in the descriptions of lists. */
export const PAGE_END = `A page may end after ${megabytes(limits.answerBytes)}.`
