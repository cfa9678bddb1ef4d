import type { Db, DbConnection } from '../db/client.ts'
import type { Presence } from './broker.ts'
import { coalesce } from './coalesce.ts'
import { keyOf, type Sessions, type User } from './sessions.ts'

type Options = {
  db: Db
  nodeId: string
  sessions: Sessions
  /** So long a user without sockets still counts as online. */
  graceMs: number
  deadAfterMs: number
  onChange: (presence: Presence) => void
  report: (error: unknown, problem: string) => void
}
type Present = { user: User; registered: Promise<unknown>; leaving: NodeJS.Timeout | undefined }

/** Who is online: the users with sockets on a live node, by the `connections` table. This keeps the rows of one node. */
export class PresenceTracker {
  readonly #present = new Map<string, Present>()
  /** What has been written of them. */
  readonly #registered = new WeakSet<Promise<unknown>>()
  readonly #change: (item: Move) => Promise<unknown>

  constructor(readonly options: Options) {
    this.#change = coalesce((moves) => this.#write(moves), { most: 1_000 })
  }

  /** The user's first socket here. Resolves once it is known to all nodes' queries. */
  arrive(user: User): Promise<unknown> {
    const known = this.#present.get(keyOf(user))
    clearTimeout(known?.leaving)
    const registered = known?.registered ?? this.#change({ user, isArriving: true })
    this.#present.set(keyOf(user), { user, registered, leaving: undefined })
    registered.then(
      () => this.#registered.add(registered),
      () => this.#present.delete(keyOf(user)),
    )
    return registered
  }

  /** The user's last socket here is gone: within the grace he may come back unnoticed. */
  depart(user: User) {
    const known = this.#present.get(keyOf(user))
    if (!known) return
    clearTimeout(known.leaving)
    known.leaving = setTimeout(() => {
      if (this.options.sessions.has(user)) return
      this.#present.delete(keyOf(user))
      this.#change({ user, isArriving: false }).catch((error) =>
        this.options.report(error, 'could not note who left'),
      )
    }, this.options.graceMs)
  }

  /** Says that this node lives, and puts back rows that a crash of the database or a rash burial took; answers whether there were such. */
  async beat() {
    const { db, nodeId } = this.options
    const settled = [...this.#present].flatMap(([key, { registered }]) =>
      this.#registered.has(registered) ? [key] : [],
    )
    const [, [row]] = await Promise.all([
      db.use(
        (db) =>
          db`insert into nodes (id, beat_at) values (${nodeId}, now()) on conflict (id) do update set beat_at = now()`,
      ),
      db.use(
        (db) =>
          db<
            { count: number }[]
          >`select count(*)::int as count from connections where node_id = ${nodeId}`,
      ),
    ])
    const isRobbed =
      row !== undefined && row.count < settled.filter((key) => this.#present.has(key)).length
    if (isRobbed)
      await Promise.all(
        [...this.#present.values()].map(({ user }) => this.#change({ user, isArriving: true })),
      )
    return isRobbed
  }

  /** Buries nodes that have not said for long that they live: their users are offline, unless another node has them. */
  async sweep() {
    const { db, deadAfterMs } = this.options
    const dead = await db.use(
      (db) =>
        db<
          { id: string }[]
        >`select id from nodes where beat_at < now() - ${deadAfterMs} * interval '1 millisecond'`,
    )
    for (const { id } of dead)
      this.#tell(false, await db.use((db) => bury(db, { dead: id, deadAfterMs })))
  }

  /** Leaves the rows to the nodes that stay: they count for the grace, then somebody buries this node. */
  async stop() {
    const { db, nodeId, graceMs, deadAfterMs } = this.options
    for (const { leaving } of this.#present.values()) clearTimeout(leaving)
    await db.use(
      (db) =>
        db`update nodes set beat_at = now() - ${Math.max(0, deadAfterMs - graceMs)} * interval '1 millisecond' where id = ${nodeId}`,
    )
  }

  async #write(moves: Move[]) {
    // The last word on a user counts.
    const wanted = [...new Map(moves.map((move) => [keyOf(move.user), move])).values()]
    const changed = await this.options.db.use((db) => move(db, { ...this.options, moves: wanted }))
    for (const isOnline of [true, false])
      this.#tell(
        isOnline,
        changed.filter((change) => change.isArriving === isOnline),
      )
    return moves
  }

  #tell(isOnline: boolean, users: (User & { lastActiveAt: string | null })[]) {
    for (const { appId, userId, lastActiveAt } of users)
      this.options.onChange({ kind: 'presence', appId, userId, isOnline, lastActiveAt })
  }
}

type Move = { user: User; isArriving: boolean }
type Changed = User & { isArriving: boolean; lastActiveAt: string | null }

/** Writes who came and who left; answers with those who have no other live node, to whom it makes a difference. */
const move = (
  db: DbConnection,
  { nodeId, deadAfterMs, moves }: Pick<Options, 'nodeId' | 'deadAfterMs'> & { moves: Move[] },
) =>
  db.begin(async (tx) => {
    const apps = moves.map(({ user }) => user.appId)
    const ids = moves.map(({ user }) => user.userId)
    // Two nodes that write about the same user take turns; each then sees what the other has written.
    await tx`
      select from users u join unnest(${apps}::uuid[], ${ids}::text[]) as w (app_id, user_id) on u.app_id = w.app_id and u.id = w.user_id
      order by u.app_id, u.id for no key update of u`
    return tx<Changed[]>`
      with wanted as (
        select * from unnest(${apps}::uuid[], ${ids}::text[], ${moves.map(({ isArriving }) => String(isArriving))}::text[]::boolean[]) as w (app_id, user_id, is_arriving)
      ), added as (
        insert into connections (node_id, app_id, user_id) select ${nodeId}, app_id, user_id from wanted where is_arriving
        on conflict do nothing returning app_id, user_id
      ), removed as (
        delete from connections k using wanted w
        where not w.is_arriving and k.node_id = ${nodeId} and k.app_id = w.app_id and k.user_id = w.user_id returning k.app_id, k.user_id
      )
      select w.*, u.last_active_at from wanted w
      join (select * from added union all select * from removed) changed using (app_id, user_id)
      join users u on u.app_id = w.app_id and u.id = w.user_id
      where not exists (
        select from connections o join nodes n on n.id = o.node_id
        where o.app_id = w.app_id and o.user_id = w.user_id and o.node_id <> ${nodeId} and n.beat_at > now() - ${deadAfterMs} * interval '1 millisecond'
      )`
  }) as Promise<Changed[]> // Postgres.js unwraps arrays of promises in its type; these are rows

/** Takes a dead node's rows away, if no other node does; answers with the users who are offline by that. */
const bury = (db: DbConnection, { dead, deadAfterMs }: { dead: string; deadAfterMs: number }) =>
  db.begin(async (tx) => {
    const [node] =
      await tx`select id from nodes where id = ${dead} and beat_at < now() - ${deadAfterMs} * interval '1 millisecond' for update skip locked`
    if (!node) return []
    await tx`
      select from users u join connections k on k.app_id = u.app_id and k.user_id = u.id where k.node_id = ${dead} order by u.app_id, u.id for no key update of u`
    const [, gone] = await Promise.all([
      tx`delete from nodes where id = ${dead}`,
      tx<
        (User & { lastActiveAt: string | null })[]
      >`delete from connections k using users u where k.node_id = ${dead} and u.app_id = k.app_id and u.id = k.user_id
        returning k.app_id, k.user_id, u.last_active_at`,
    ])
    return tx<(User & { lastActiveAt: string | null })[]>`
      select g.app_id, g.user_id, u.last_active_at
      from unnest(${gone.map(({ appId }) => appId)}::uuid[], ${gone.map(({ userId }) => userId)}::text[]) as g (app_id, user_id)
      join users u on u.app_id = g.app_id and u.id = g.user_id
      where not exists (select from connections o join nodes n on n.id = o.node_id where o.app_id = g.app_id and o.user_id = g.user_id)`
  }) as Promise<(User & { lastActiveAt: string | null })[]> // as above
