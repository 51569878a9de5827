import type { Listening } from '../redis/messages.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import type { Caller } from './caller.ts'
import { claimOrCleanUp, passOrCleanUp, undoGrant } from './cleanup.ts'
import { isOver, type TimedGrant, timed } from './grant.ts'
import { Pacing } from './pacing.ts'
import type { AcquireReply, LockClaim, LockStore } from './store.ts'
import { Turn } from './turn.ts'

/**
 * The line in which this process's callers wait for one key, first come first served; in the store they are one
 * waiter. It has one request under way at most, and asks when the store calls it, when the lease in its way ends, and
 * else now and then, for a call that got lost.
 */
export class Line {
  readonly #key: string
  readonly #store: LockStore
  readonly #waiter: string
  readonly #callers = new Set<Caller>()
  #asking = false
  #isFailing = false
  /** The store called while a request was under way: its answer may be older than the call. */
  #called = false
  /** Where it stands in the store's line, as far as it is known. */
  #since: number | undefined
  /** The time in which this process passes the lease among its own callers. */
  #turn: Turn | undefined
  readonly #pacing = new Pacing()
  #timer: NodeJS.Timeout | undefined
  #listening: Listening | undefined
  #wasUsed = true
  /** Of whoever came last. */
  #port: GuardedPort<'lock'> | undefined

  constructor(key: string, store: LockStore, waiter: string) {
    this.#key = key
    this.#store = store
    this.#waiter = waiter
  }

  enter(caller: Caller): void {
    this.#wasUsed = true
    this.#port = caller.port
    if (this.#isKnownToBeHeld()) caller.held(0)
    this.#callers.add(caller)
    if (!this.#asking && !this.#timer) this.#proceed()
  }

  /** At once, whatever is under way: what it brings is for those who stay. */
  leave(caller: Caller): void {
    this.#callers.delete(caller)
    if (this.#callers.size === 0 && !this.#asking) this.#rest()
  }

  /** Gives a lease back: to the next caller of this process, if it has the turn, or to the store's line. */
  release(port: GuardedPort<'lock'>, grant: TimedGrant): Promise<boolean> {
    const [next] = this.#callers
    if (next && !this.#asking) return this.#pass(port, grant, next)
    this.#turn = undefined
    return port.ask('release', (store) => store.release([this.#key], grant))
  }

  /** A lease was given back by another way than `release`. */
  freed(): void {
    const hadTurn = this.#turn !== undefined
    this.#turn = undefined
    if (hadTurn && this.#callers.size > 0 && !this.#asking) this.#ask()
  }

  /** Whether it has nothing that a new one would not have. */
  get isAsNew(): boolean {
    return this.#callers.size === 0 && !this.#asking && !this.#listening
  }

  /** Whether nobody used it since the last look; then it is at its end. */
  closeIfIdle(): boolean {
    if (this.#wasUsed || this.#callers.size > 0 || this.#asking) {
      this.#wasUsed = false
      return false
    }
    this.#listening?.close()
    return true
  }

  /** By an answer of just now: who comes while the store fails is told so. */
  #isKnownToBeHeld(): boolean {
    return !this.#isFailing && (this.#since !== undefined || this.#patienceMs > 0)
  }

  get #patienceMs(): number {
    return this.#turn?.patienceMs(performance.now()) ?? 0
  }

  #proceed(): void {
    const patienceMs = this.#patienceMs
    if (patienceMs > 0) this.#askIn(patienceMs)
    else this.#ask()
  }

  #ask(): void {
    const [caller] = this.#callers
    if (caller) this.#askFor(caller)
    else this.#rest()
  }

  #askFor(caller: Caller): void {
    this.#begin()
    const { port, claim } = caller
    const startedAt = performance.now()
    const place = { waiter: this.#waiter, since: this.#since }
    claimOrCleanUp(port, [this.#key], claim, place).then(
      (reply) => {
        if (reply.state === 'granted') this.#since = undefined
        this.#heard(caller, claim, startedAt, reply)
      },
      (error: unknown) => this.#failed(caller, error),
    )
  }

  async #pass(port: GuardedPort<'lock'>, grant: TimedGrant, next: Caller): Promise<boolean> {
    this.#begin()
    const startedAt = performance.now()
    const turn = this.#turn ?? new Turn(grant.startedAt)
    const keepsTurn = turn.goesOn(startedAt)
    this.#turn = undefined
    const { claim } = next
    const place = { waiter: this.#waiter, since: this.#since }
    try {
      const reply = await passOrCleanUp(port, this.#key, grant, claim, place, keepsTurn)
      if (keepsTurn) this.#turn = turn.passed()
      else this.#since = undefined
      this.#heard(next, claim, startedAt, reply.next)
      return reply.released
    } catch (error) {
      this.#failed(next, error)
      throw error
    }
  }

  #begin(): void {
    this.#wasUsed = true
    this.#asking = true
    this.#called = false
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #heard(caller: Caller, claim: LockClaim, startedAt: number, reply: AcquireReply): void {
    this.#asking = false
    this.#isFailing = false
    if (reply.state === 'granted') this.#granted(caller, timed(claim, reply.fence, startedAt))
    else this.#held(reply)
  }

  #granted(caller: Caller, grant: TimedGrant): void {
    this.#pacing.reset()
    this.#turn ??= new Turn(performance.now())
    const isLate = isOver(grant)
    if (isLate || !this.#callers.has(caller)) this.#passOn(caller, grant, isLate)
    else this.#handTo(caller, grant)
  }

  #handTo(caller: Caller, grant: TimedGrant): void {
    this.#callers.delete(caller)
    caller.granted(grant)
    if (this.#callers.size > 0) this.#proceed()
    else this.#rest()
  }

  /** Its caller is gone, or it came when it was over already. */
  #passOn(caller: Caller, grant: TimedGrant, isLate: boolean): void {
    if (isLate && !caller.renewClaim()) this.#callers.delete(caller)
    this.release(caller.port, grant).catch(() => undoGrant(caller.port, [this.#key], grant))
  }

  #held({ leftMs, since }: AcquireReply & { readonly state: 'held' }): void {
    this.#turn = undefined
    this.#since = since
    for (const caller of this.#callers) caller.held(leftMs)
    if (this.#callers.size === 0) this.#rest()
    else if (this.#called) this.#ask()
    else {
      this.#askIn(this.#pacing.afterRefusalMs(leftMs))
      this.#listen()
    }
  }

  /** Who has never had an answer is told; who stands in line stays there, until its wait is over. */
  #failed(caller: Caller, error: unknown): void {
    this.#asking = false
    this.#isFailing = true
    this.#turn = undefined
    if (!caller.renewClaim(error)) this.#callers.delete(caller)
    for (const waiting of this.#callers)
      if (!waiting.unanswered(error)) this.#callers.delete(waiting)
    if (this.#callers.size === 0) this.#rest()
    else this.#askIn(this.#pacing.afterFailureMs())
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (!this.#turn) this.#pacing.asksUncalled()
      this.#ask()
    }, Math.ceil(ms)).unref() // its callers keep the process alive
  }

  #listen(): void {
    if (this.#listening) return
    this.#listening = this.#store.listen(this.#key, this.#waiter, () => this.#turnCame())
    // What was sent before it could be heard got lost.
    void this.#listening.ready.then(() => {
      if (this.#callers.size > 0) this.#turnCame()
    })
  }

  #turnCame(): void {
    if (this.#asking) this.#called = true
    else if (this.#turn)
      return // it was called for the lease that it has
    else if (this.#callers.size > 0) this.#ask()
    else this.#leave()
  }

  /** Nobody waits. A place in the store's line, and a turn that is kept for it, go to others. */
  #rest(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#pacing.reset()
    if (this.#since !== undefined) this.#leave()
  }

  #leave(): void {
    this.#since = undefined
    this.#port?.ask('leave', (store) => store.leave(this.#key, this.#waiter)).catch(() => {}) // it will count as dead
  }
}
