import type { Listening } from '../redis/messages.ts'
import { Attempt, type RedlockNode } from './redlock-node.ts'
import type {
  AcquireReply,
  LockClaim,
  LockGrant,
  LockHolder,
  LockKeys,
  LockStore,
  PassReply,
  Place,
} from './store.ts'
import { decision, majorityOf, majorityOfAll, type Votes } from './votes.ts'

/**
 * Keeps leases on several independent masters: whoever has a majority of them has the lock
 * (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). The fence, which that algorithm lacks,
 * is the highest of those granted, written to a majority before the claim counts: so every later majority has a
 * master that knows it.
 *
 * A minority of the masters may be lost at any time. One that comes back empty knows neither leases nor fences: it
 * should stay away for as long as the longest lease.
 */
export class RedlockStore implements LockStore {
  readonly remote = true
  readonly lines = false
  readonly #nodes: readonly RedlockNode[]
  readonly #majority: number
  readonly #attempts = new Map<string, Set<Attempt>>()
  /** Which masters have given a lease back already: a release that is tried again must still count them. */
  readonly #givenBack = new WeakMap<LockGrant | LockClaim, Set<number>>()

  constructor(nodes: readonly RedlockNode[]) {
    this.#nodes = nodes
    this.#majority = majorityOf(nodes.length)
  }

  check(keys: LockKeys): void {
    for (const { store } of this.#nodes) store.check(keys)
  }

  async acquire(keys: LockKeys, claim: LockClaim): Promise<AcquireReply> {
    const attempt = this.#begin(claim.token)
    try {
      const reply = await this.#claim(keys, claim, attempt)
      if (reply.state === 'held') this.#abandon(keys, claim)
      return reply
    } catch (error) {
      this.#abandon(keys, claim)
      throw error
    } finally {
      attempt.end()
    }
  }

  release(keys: LockKeys, grant: LockGrant | LockClaim): Promise<boolean> {
    for (const attempt of this.#attempts.get(grant.token) ?? []) attempt.over = true
    const givenBack = this.#givenBack.get(grant) ?? new Set()
    this.#givenBack.set(grant, givenBack)
    const released = this.#nodes.map((node, index) =>
      node.ask('release', async (store) => {
        if (await store.release(keys, grant)) givenBack.add(index)
        return givenBack.has(index)
      }),
    )
    return this.#majorityOf(released)
  }

  async pass(key: string, grant: LockGrant, next: LockClaim, _place: Place): Promise<PassReply> {
    const released = await this.release([key], grant)
    return { released, next: await this.acquire([key], next) }
  }

  extend(keys: LockKeys, grant: LockGrant, leaseMs: number): Promise<boolean> {
    const askMs = leaseMs + driftOf(leaseMs)
    return this.#majorityOf(
      this.#nodes.map((node) => node.ask('extend', (store) => store.extend(keys, grant, askMs))),
    )
  }

  async leave(): Promise<void> {}

  async inspect(key: string): Promise<LockHolder | undefined> {
    const asked = this.#nodes.map((node) => node.ask('inspect', (store) => store.inspect(key)))
    const { holder } = await decision(asked, (votes) => this.#holder(votes))
    return holder
  }

  listen(): Listening {
    return { ready: Promise.resolve(), close: () => {} }
  }

  #begin(token: string): Attempt {
    const attempts = this.#attempts.get(token) ?? new Set()
    this.#attempts.set(token, attempts)
    // The same claim once more: what an earlier attempt is still granted is wanted again.
    for (const earlier of attempts) earlier.over = false
    const attempt = new Attempt(() => {
      attempts.delete(attempt)
      if (attempts.size === 0) this.#attempts.delete(token)
    })
    attempts.add(attempt)
    attempt.begin()
    return attempt
  }

  async #claim(keys: LockKeys, claim: LockClaim, attempt: Attempt): Promise<AcquireReply> {
    const startedAt = performance.now()
    const asked = { ...claim, leaseMs: claim.leaseMs + driftOf(claim.leaseMs) }
    const claims = this.#nodes.map((node) => node.claim(keys, asked, attempt))
    const reply = await decision(claims, (votes) => this.#count(votes))
    if ('leftMs' in reply) return { state: 'held', leftMs: reply.leftMs }
    await this.#agree(keys, claim, reply)
    if (performance.now() - startedAt >= claim.leaseMs)
      throw new Error('the masters took longer to answer than the lease lasts')
    return { state: 'granted', fence: reply.fence }
  }

  /** On every master: one that did not answer may have granted, or will. */
  #abandon(keys: LockKeys, claim: LockClaim): void {
    this.release(keys, claim).catch(() => {}) // what it cannot reach lapses
  }

  #count({ answers, open }: Votes<AcquireReply>): Won | Lost | undefined {
    const replies = [...answers]
    const granted = replies.flatMap(([node, reply]) =>
      reply.state === 'granted' ? [{ node, fence: reply.fence }] : [],
    )
    if (granted.length >= this.#majority) {
      const fence = Math.max(...granted.map((grant) => grant.fence))
      const know = granted.filter((grant) => grant.fence === fence).map(({ node }) => node)
      return { fence, know, refused: refusals(replies) }
    }
    if (granted.length + open >= this.#majority || answers.size < this.#majority) return undefined
    const waits = replies
      .flatMap(([, reply]) => (reply.state === 'held' ? [reply.leftMs] : []))
      .sort((a, b) => a - b)
    // Those that have not answered may be free.
    const missing = this.#majority - (this.#nodes.length - waits.length)
    return { leftMs: waits[Math.max(missing, 1) - 1] ?? 0 }
  }

  /**
   * Before the claim counts, a majority knows its fence. Masters that have not answered yet are told too; until they
   * know, a claim that is sent again may be answered by a higher fence of theirs.
   */
  #agree(keys: LockKeys, claim: LockClaim, { fence, know, refused }: Won): Promise<true> {
    const agreed = this.#nodes.map((node, index) => {
      if (know.includes(index)) return Promise.resolve(true)
      if (refused.includes(index)) return Promise.resolve(false)
      return node.ask('agree', (store) => store.agree(keys, { ...claim, fence }))
    })
    return this.#majorityOf(agreed).then((isKnown) => {
      if (!isKnown) throw new Error('no majority of the masters knows the fence')
      return true
    })
  }

  /** Held by whoever a majority names; `{}` if that can be nobody. */
  #holder({
    answers,
    open,
  }: Votes<LockHolder | undefined>): { readonly holder?: LockHolder } | undefined {
    const byFence = new Map<number, LockHolder[]>()
    for (const holder of answers.values())
      if (holder) byFence.set(holder.fence, [...(byFence.get(holder.fence) ?? []), holder])
    const [most = []] = [...byFence.values()].sort((a, b) => b.length - a.length)
    if (most.length >= this.#majority) return { holder: this.#together(most) }
    if (open > 0) return undefined
    const silent = this.#nodes.length - answers.size
    return most.length + silent < this.#majority ? {} : undefined
  }

  /** It lasts until a majority is lost. */
  #together(holders: readonly LockHolder[]): LockHolder {
    const [first] = holders
    const leases = holders.map(({ remainingMs }) => remainingMs).sort((a, b) => b - a)
    return { ...(first as LockHolder), remainingMs: leases[this.#majority - 1] ?? 0, waiters: 0 }
  }

  #majorityOf(asked: readonly Promise<boolean>[]): Promise<boolean> {
    return decision(asked, (votes) => majorityOfAll(this.#nodes.length, votes))
  }
}

/** By how much clocks of servers may differ in a lease: they keep it for so much longer than the holder counts on. */
function driftOf(leaseMs: number): number {
  return Math.ceil(leaseMs / 100) + 2
}

function refusals(replies: readonly (readonly [number, AcquireReply])[]): readonly number[] {
  return replies.flatMap(([node, reply]) => (reply.state === 'held' ? [node] : []))
}

/** A majority granted; by `know`, with this fence, the highest. */
interface Won {
  readonly fence: number
  readonly know: readonly number[]
  readonly refused: readonly number[]
}

interface Lost {
  readonly leftMs: number
}
