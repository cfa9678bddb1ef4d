import { limits } from '@parley/contract'

/** The caller for whom work is done: a user, or an app, by its key or in batches. */
export type AdmittedCaller = {
  appId: string
  /** Whether the call looks up an API key, so that its app is not known yet. */
  isKeyLookUp?: boolean
} & ({ userId: string } | { queue: AppQueue } | { queue: 'waits'; first: string })
/**
 * Calls and look-ups of tokens are refused for the length of their queue: few batches of an app
 * wait at a time. Batches that wait for a lock (`waits`) carry calls of several users. They are
 * counted for the one whose call came first, but do not wait behind that user's other calls.
 */
type AppQueue = 'calls' | 'sends' | 'waits' | 'subscribes' | 'tokens'

type AppLoad = {
  /** False for look-ups of keys. */
  isApp: boolean
  running: number
  waiting: number
  callers: Map<string, CallerLoad>
}
/**
 * The running work of a caller, and the waiting work in the order in which it came. Work that runs
 * `apart` takes no place of the app.
 */
type CallerLoad = {
  atOnce: number
  isApart: boolean
  running: number
  waiting: Set<() => void>
}
/** The load of a caller and of their app. */
export type AdmissionLoad = { app: AppLoad; caller: CallerLoad }

/** A queue is long if at least this many calls wait for each connection of the app. */
const LONG_QUEUE = 4

/** How many tokens of an app are looked up at once: they wait for no locks, so few are enough. */
const LOOK_UPS = 2

/** The running and waiting work of all callers, and the order of their turns. */
export class AdmissionLoads {
  readonly #loads = new Map<string, AppLoad>()
  /** How many of them are of apps. */
  #apps = 0
  readonly #perApp: number
  readonly #perUser: number
  readonly #waitsOfUser: number
  readonly #lookUps: number
  readonly #isLoopBusy: () => boolean

  constructor(poolSize: number, isLoopBusy: () => boolean) {
    this.#isLoopBusy = isLoopBusy
    this.#perApp = Math.max(1, Math.floor(poolSize / 2))
    const { user } = limits.callsAtOnce
    // With three places or more, a user's calls and waiting batches leave one to others.
    this.#perUser = Math.max(1, Math.min(user, Math.ceil(this.#perApp / 2), this.#perApp - 2))
    const left = this.#perApp - this.#perUser
    this.#waitsOfUser = Math.max(1, Math.min(Math.ceil(this.#perUser / 2), left - 1))
    this.#lookUps = Math.min(LOOK_UPS, Math.ceil(this.#perApp / 2))
  }

  of(who: AdmittedCaller): AdmissionLoad {
    const name = nameOf(who)
    const app = this.#loads.get(who.appId) ?? this.#beginApp(who)
    const caller = app.callers.get(name) ?? this.#begin(who)
    app.callers.set(name, caller)
    return { app, caller }
  }

  #beginApp({ appId, isKeyLookUp }: AdmittedCaller): AppLoad {
    const load = { isApp: !isKeyLookUp, running: 0, waiting: 0, callers: new Map() }
    this.#loads.set(appId, load)
    if (load.isApp) this.#apps += 1
    return load
  }

  #begin(who: AdmittedCaller): CallerLoad {
    const load = { isApart: false, running: 0, waiting: new Set<() => void>() }
    if ('userId' in who) return { ...load, atOnce: this.#perUser }
    if ('first' in who) return { ...load, atOnce: this.#waitsOfUser }
    if (who.queue === 'tokens') return { ...load, atOnce: this.#lookUps, isApart: true }
    return { ...load, atOnce: this.#perApp }
  }

  forgetIdle(who: AdmittedCaller, { app, caller }: AdmissionLoad) {
    if (caller.running > 0 || caller.waiting.size > 0) return
    app.callers.delete(nameOf(who))
    if (app.callers.size > 0 || !this.#loads.delete(who.appId)) return
    if (app.isApp) this.#apps -= 1
  }

  hasRoom({ app, caller }: AdmissionLoad) {
    if (caller.running >= caller.atOnce) return false
    return caller.isApart || app.running < this.#placesOf(app)
  }

  /**
   * An app with a long queue takes more of the event loop than its connections show: its calls
   * arrive, are checked and may be refused beside. While the loop is busy and other apps have
   * calls, it leaves half of its connections unused. Anybody can have a key looked up: that is no
   * call of another app.
   */
  #placesOf({ isApp, running, waiting }: AppLoad) {
    const all = this.#perApp
    const fewer = Math.ceil(all / 2)
    const isLong = running >= fewer && waiting >= LONG_QUEUE * all
    const hasFewer = isApp && isLong && this.#apps > 1 && this.#isLoopBusy()
    return hasFewer ? fewer : all
  }

  isFull(who: AdmittedCaller, { app, caller }: AdmissionLoad) {
    const { userWaiting, appWaiting } = limits.callsAtOnce
    if ('userId' in who) return caller.waiting.size >= userWaiting || app.waiting >= appWaiting
    if (who.queue === 'tokens') return caller.waiting.size >= appWaiting
    return who.queue === 'calls' && app.waiting >= appWaiting
  }

  start({ app, caller }: AdmissionLoad) {
    if (!caller.isApart) app.running += 1
    caller.running += 1
  }

  finish(who: AdmittedCaller, load: AdmissionLoad) {
    if (!load.caller.isApart) load.app.running -= 1
    load.caller.running -= 1
    this.#admitNext(load.app)
    this.admitWaiting(load.app)
    this.forgetIdle(who, load)
  }

  /** An app may have more places than when a call of it last ended. */
  admitWaiting(app: AppLoad) {
    let isAdmitted = true
    while (isAdmitted && app.waiting > 0 && app.running < this.#placesOf(app))
      isAdmitted = this.#admitNext(app)
  }

  #admitNext(app: AppLoad) {
    for (const [name, caller] of app.callers) {
      const [admit] = caller.waiting
      if (!admit || !this.hasRoom({ app, caller })) continue
      // To the end: the others have their turn before the next call of this caller.
      app.callers.delete(name)
      app.callers.set(name, caller)
      admit()
      return true
    }
    return false
  }
}

const nameOf = (who: AdmittedCaller) => {
  if ('userId' in who) return `user ${who.userId}`
  return 'first' in who ? `${who.queue} of ${who.first}` : who.queue
}
