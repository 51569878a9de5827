import { idempotencyScripts, type Script } from '../generated/lua.ts'
import { Batch } from '../redis/batch.ts'
import type { RedisPort } from '../redis/client.ts'
import { isReplyError, runScriptOnBytes } from '../redis/script-runner.ts'
import type { RedisNames } from './redis-names.ts'
import type { Lifetimes } from './store.ts'

/** What a script is to do for one record. */
export interface Step {
  readonly key: string
  readonly args: readonly (string | Buffer)[]
  /** May throw at what is no reply; then the step is rejected with it. */
  answered(reply: unknown): void
  failed(error: unknown): void
}

/**
 * Runs the scripts. What is claimed in one turn of the event loop travels together, and so does what is settled; in a
 * Cluster, where the records are in many slots, each goes alone.
 */
export class RedisSteps {
  readonly #redis: RedisPort
  readonly #names: RedisNames
  readonly #terms = new Map<string, Terms>()
  readonly #claims: Batch<Terms, Step>
  readonly #settlements: Batch<Terms, Step>
  /** One hash slot a script: a cluster, or what turned out to be one behind a proxy. */
  #oneSlot: boolean

  constructor(redis: RedisPort, names: RedisNames) {
    this.#redis = redis
    this.#names = names
    this.#oneSlot = redis.cluster
    const whole = { waitsForTurn: true }
    this.#claims = new Batch(LONGEST, (terms, steps) => this.#claim(terms, steps), whole)
    this.#settlements = new Batch(LONGEST, (terms, steps) => this.#settle(terms, steps), whole)
  }

  get oneSlot(): boolean {
    return this.#oneSlot
  }

  claim(lifetimes: Lifetimes, step: Step): void {
    const terms = this.#termsOf(lifetimes)
    if (this.#oneSlot) void this.#claim(terms, [step])
    else this.#claims.add(terms, step)
  }

  /** A response that is long would make the others wait. */
  settle(lifetimes: Lifetimes, step: Step, isLong: boolean): void {
    const terms = this.#termsOf(lifetimes)
    if (this.#oneSlot || isLong) void this.#settle(terms, [step])
    else this.#settlements.add(terms, step)
  }

  /** For a script of one record. */
  async run(script: Script, key: string, args: readonly string[]): Promise<unknown> {
    return this.#send(script, [key], () => args)
  }

  #claim({ leaseMs, openMs }: Terms, steps: readonly Step[]): Promise<void> {
    return this.#runAll(idempotencyScripts.claim, steps, () => [leaseMs, openMs])
  }

  #settle({ leaseMs, resultTtlMs }: Terms, steps: readonly Step[]): Promise<void> {
    const sharded = this.#redis.cluster ? '1' : '0'
    return this.#runAll(idempotencyScripts.settle, steps, (index) => [
      leaseMs,
      resultTtlMs,
      String(index.length),
      sharded,
    ])
  }

  /** Never rejects: each step hears for itself. */
  async #runAll(script: Script, steps: readonly Step[], shared: Shared): Promise<void> {
    try {
      for (const [at, reply] of (await this.#ask(script, steps, shared)).entries())
        answer(steps[at] as Step, reply)
    } catch (error) {
      // Nothing ran: a server that takes no keys of different slots looked at them first.
      if (steps.length > 1 && isReplyError(error, 'CROSSSLOT'))
        for (const step of steps) void this.#runAll(script, [step], shared)
      else for (const step of steps) step.failed(error)
    }
  }

  async #ask(script: Script, steps: readonly Step[], shared: Shared): Promise<readonly unknown[]> {
    const keys = steps.map(({ key }) => key) as [string, ...string[]]
    const own = steps.flatMap(({ args }) => args)
    const replies = await this.#send(script, keys, (index) => [...shared(index), ...own])
    if (Array.isArray(replies) && replies.length === steps.length) return replies
    throw new TypeError(`expected ${steps.length} replies of the script`)
  }

  async #send(
    script: Script,
    keys: readonly [string, ...string[]],
    args: (index: string) => readonly (string | Buffer)[],
  ): Promise<unknown> {
    const index = this.#oneSlot ? this.#names.indexBeside(keys[0]) : this.#names.index
    try {
      return await runScriptOnBytes(this.#redis, script, [...keys, index], args(index))
    } catch (error) {
      if (this.#oneSlot || !isReplyError(error, 'CROSSSLOT')) throw error
      this.#oneSlot = true
      if (keys.length > 1) throw error
      return this.#send(script, keys, args)
    }
  }

  /** One object for all equal lifetimes: steps with the same travel together. */
  #termsOf({ leaseMs, resultTtlMs }: Lifetimes): Terms {
    const name = `${leaseMs} ${resultTtlMs}`
    let terms = this.#terms.get(name)
    if (!terms) {
      const openMs = String(leaseMs + resultTtlMs)
      terms = { leaseMs: String(leaseMs), resultTtlMs: String(resultTtlMs), openMs }
      this.#terms.set(name, terms)
    }
    return terms
  }
}

/** Steps that travel together at most: longer batches gain little and make the first wait for the last. */
const LONGEST = 16

/** What is said once for all steps, beside this index. */
type Shared = (index: string) => readonly string[]

function answer(step: Step, reply: unknown): void {
  try {
    step.answered(reply)
  } catch (error) {
    step.failed(error)
  }
}

/** Lifetimes, as scripts take them. */
interface Terms {
  readonly leaseMs: string
  readonly resultTtlMs: string
  /** Of the record of a claim: unknown from the lease's end on, it is remembered like a result. */
  readonly openMs: string
}
