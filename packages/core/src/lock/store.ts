import type { Listening } from '../redis/messages.ts'

/** One key, or several that are taken together; in the order in which they are locked everywhere. */
export type LockKeys = readonly [string, ...string[]]

/** What asks for a lease. */
export interface LockClaim {
  /** 128 random bits, the claim's own: whoever knows it is the owner. */
  readonly token: string
  readonly leaseMs: number
  /** What `inspect` tells others of the holder, as JSON; '' for nothing. */
  readonly metadata: string
}

/** A lease that was granted, as the store needs to see it again for release and renewal. */
export interface LockGrant extends LockClaim {
  /** Higher than that of every earlier grant of each key. */
  readonly fence: number
}

/**
 * The place of this process in the line of a key: one waiter a process and key, for all of its callers. The store
 * names the moment of arrival; whoever lost its turn by being slow brings it along and stands where it stood.
 */
export interface Place {
  /** This process's name in lines: where its wake-ups go. */
  readonly waiter: string
  /** As the last `held` reply told; absent at the first call. */
  readonly since?: number | undefined
}

/** `held`: by somebody else, or kept for whoever is next in line. */
export type AcquireReply =
  | { readonly state: 'granted'; readonly fence: number }
  | {
      readonly state: 'held'
      /** Milliseconds of the store's clock until this lease ends, if nobody renews or releases it before. */
      readonly leftMs: number
      /** When this process came, if it stands in line now. */
      readonly since?: number | undefined
    }

/** What became of a release, and of the claim that came with it. */
export interface PassReply {
  readonly released: boolean
  readonly next: AcquireReply
}

/** What is known of a key that is held. */
export interface LockHolder {
  readonly fence: number
  /** JSON, or ''. */
  readonly metadata: string
  readonly heldMs: number
  readonly remainingMs: number
  /** Processes that stand in line, the dead ones among them not counted as far as the store knows. */
  readonly waiters: number
}

/**
 * Keeps leases. Six methods fix the whole contract; `contract/lock-store.ts` tests it.
 *
 * - Every change is one atomic step that compares the token; the store's clock decides.
 * - The fences of a key's grants rise strictly, also when the store forgot the last one: a fence is at least the
 *   store's time in microseconds. A claim of several keys gets one that is higher than the last of each.
 * - A claim repeated with the same token while its lease lasts is the same grant, with the same fence.
 * - When a lease is released and somebody stands in line, the key is kept for a moment for the first who is alive,
 *   and exactly that one is woken. Newcomers do not overtake the line.
 * - A lease that ends without a release frees its key; whoever asks next moves the line on.
 * - A rejection means: it may or may not have happened.
 */
export interface LockStore {
  /** True when a call leaves the process: such a store gets deadlines and a circuit. */
  readonly remote: boolean
  /** Whether processes can stand in line here; where they cannot, those who wait ask again, and `place` is ignored. */
  readonly lines: boolean
  /**
   * Checks that these keys can be locked together.
   *
   * @throws ConfigurationError (`configuration`), naming the keys that lie in different hash slots of a Cluster.
   */
  check(keys: LockKeys): void
  /** Takes all of the keys, or none. With a place (one key only) a refused claim stands in line. */
  acquire(keys: LockKeys, claim: LockClaim, place?: Place): Promise<AcquireReply>
  /** Whether the lease was still this owner's; wakes who is next. `quiet`: nobody stands in line, as far as it is known. */
  release(keys: LockKeys, grant: LockGrant | LockClaim, quiet?: boolean): Promise<boolean>
  /**
   * Releases, and claims for the next caller of the same process, in one step. With `keepsTurn` that one comes before
   * the line of other processes; without it the line goes first, and this process stands where it says that it stood, else at the end.
   */
  pass(
    key: string,
    grant: LockGrant,
    next: LockClaim,
    place: Place,
    keepsTurn: boolean,
  ): Promise<PassReply>
  /** Whether the lease was still this owner's, and now ends `leaseMs` from now. */
  extend(keys: LockKeys, grant: LockGrant, leaseMs: number): Promise<boolean>
  /** Leaves the line: nobody of this process waits for the key any more. A turn that was kept for it goes to the next. */
  leave(key: string, waiter: string): Promise<void>
  inspect(key: string): Promise<LockHolder | undefined>
  /** Calls `onTurn` whenever the key was kept for this waiter. A hint: it can be lost, and it can come in vain. */
  listen(key: string, waiter: string, onTurn: () => void): Listening
  /**
   * Waits until at least `min` replicas have a lease, `waitMs` at most; how many have. 0: it is no longer this owner's.
   * Absent where that cannot be asked.
   */
  replicated?(
    keys: LockKeys,
    grant: Pick<LockGrant, 'token' | 'leaseMs'>,
    min: number,
    waitMs: number,
  ): Promise<number>
}
