/**
 * One line of a history: what callers of a lock saw, what its resource accepted, and what the rig did to them. `atMs`
 * is the machine's monotonic clock, which all processes share; `call` names one acquire and what follows from it.
 */
export type HistoryEvent =
  | Asked
  | Granted
  | Held
  | Told
  | Releasing
  | Released
  | Woke
  | Write
  | Unhandled
  | Died
  | Stopped
  | Forgot
  | Looked

export interface Asked extends Line {
  readonly what: 'asked'
  readonly key: string
  readonly process: string
  readonly waitMs: number
}

export interface Granted extends Line {
  readonly what: 'granted'
  readonly key: string
  readonly process: string
  /** Undefined where the package has none. */
  readonly fence?: number | undefined
  /** The holder counts on its lease until then. */
  readonly untilMs: number
}

/** The holder looked again how long it may count on its lease. */
interface Held extends Line {
  readonly what: 'held'
  readonly untilMs: number
}

/** The caller got no lease, and knows why. */
interface Told extends Line {
  readonly what: 'told'
  readonly why: 'held' | 'unavailable' | `unexpected: ${string}`
}

/** From here on the holder does not count on its lease any more. */
interface Releasing extends Line {
  readonly what: 'releasing'
}

interface Released extends Line {
  readonly what: 'released'
  readonly outcome: string
}

/** Timers of a process ran again after a pause in which this lease had ended. */
interface Woke extends Line {
  readonly what: 'woke'
  readonly aborted: boolean
}

/** By the resource, in its order. */
export interface Write extends Line {
  readonly what: 'write'
  readonly key: string
  readonly fence?: number | undefined
  readonly accepted: boolean
}

interface Line {
  readonly atMs: number
  readonly call: string
}

/** A rejection or exception that no caller saw. */
interface Unhandled {
  readonly what: 'unhandled'
  readonly atMs: number
  readonly process: string
  readonly error: string
}

interface Died {
  readonly what: 'died'
  readonly atMs: number
  readonly process: string
}

export interface Stopped {
  readonly what: 'stopped'
  readonly atMs: number
  readonly process: string
  readonly untilMs: number
}

/** The store lost what it had acknowledged: a failover, or a restart with nothing saved. */
interface Forgot {
  readonly what: 'forgot'
  readonly atMs: number
}

/** The keys of the store, a second after it was well again and the last call had ended. */
interface Looked {
  readonly what: 'looked'
  readonly atMs: number
  readonly keys: readonly StoredKey[]
}

export interface StoredKey {
  readonly name: string
  /** Whether somebody holds a lock by it. */
  readonly lock: boolean
  /** As PTTL answers: -1 for none. */
  readonly ttlMs: number
}

export type History = readonly HistoryEvent[]

/** The events of one kind, in the order of the history. */
export function of<W extends HistoryEvent['what']>(
  history: History,
  what: W,
): Extract<HistoryEvent, { what: W }>[] {
  return history.filter((event): event is Extract<HistoryEvent, { what: W }> => event.what === what)
}
