import { createHash } from 'node:crypto'
import { CircuitBreaker } from '../resilience/circuit-breaker.ts'
import type { Store } from '../store.ts'
import { type Counter, field } from './flexible-counter.ts'
import type { Quota, RateLimitStore, Standing } from './store.ts'

/** A store that serves one limiter only: limits, windows and what is spent are those of its counters. */
export function flexibleStore(counters: readonly Counter[]): Store {
  const rateLimit = new FlexibleStore(counters)
  if (!rateLimit.remote) return { rateLimit, close: async () => {} }
  const circuit = new CircuitBreaker(() => Promise.all(counters.map(probe)))
  return { rateLimit, circuit, close: async () => circuit.close() }
}

/** Answers in the order of the counters, which is that of the quota's policies. */
class FlexibleStore implements RateLimitStore {
  readonly remote: boolean
  readonly #counters: readonly Counter[]

  constructor(counters: readonly Counter[]) {
    this.remote = counters.some((counter) => counter.remote)
    this.#counters = counters
  }

  /** Counters know nothing of each other: those that admit are charged, whatever the others say. */
  consume(_quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const key = keyFor(subject)
    return Promise.all(this.#counters.map((counter) => spend(counter, key, cost)))
  }

  peek(_quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const key = keyFor(subject)
    return Promise.all(this.#counters.map((counter) => look(counter, key, cost)))
  }

  async refund(_quota: Quota, subject: string, cost: number): Promise<void> {
    const key = keyFor(subject)
    await Promise.all(this.#counters.map((counter) => giveBack(counter, key, cost)))
  }

  async reset(_quota: Quota, subject: string): Promise<void> {
    const key = keyFor(subject)
    await Promise.all(this.#counters.map((counter) => counter.delete(key)))
  }
}

/** What a `RateLimiterRes` says. */
interface Count {
  readonly remaining: number
  /** Infinity when the count never starts afresh by itself. */
  readonly endsInMs: number
}

async function spend(counter: Counter, key: string, cost: number): Promise<Standing> {
  try {
    return standing(counter, cost, true, read(await counter.consume(key, cost)))
  } catch (reason) {
    if (!isRefusal(reason)) throw reason
    return standing(counter, cost, false, read(reason))
  }
}

async function look(counter: Counter, key: string, cost: number): Promise<Standing> {
  const result = await counter.get(key)
  const count = result ? read(result) : undefined
  const left = count?.remaining ?? 0
  // The memory limiter also shows counts whose window is over.
  const current = count && count.endsInMs > 0 ? count : untouched(counter, left)
  return standing(counter, cost, cost <= current.remaining, current)
}

/**
 * A reward alone would go below zero, and start a window below zero where the old one is over: so much
 * above the limit would pass. What other refunds or the end of the window left too much is spent again.
 */
async function giveBack(counter: Counter, key: string, cost: number): Promise<void> {
  const result = await counter.get(key)
  if (!result || read(result).endsInMs <= 0) return
  const spent = Number(field(result, 'consumedPoints'))
  if (!(spent > 0)) return
  const units = Math.min(cost, spent)
  const after = Number(field(await counter.reward(key, units), 'consumedPoints'))
  if (after < 0) await counter.penalty(key, Math.min(units, -after))
}

/** A write, since a store may answer reads and still refuse what a decision needs; it leaves nothing behind. */
async function probe(counter: Counter): Promise<void> {
  await counter.penalty(PROBE_KEY, 1)
  await counter.delete(PROBE_KEY)
}

const PROBE_KEY = 'sluice:probe'

/** A refusal is what the library rejects with when it is not an error; whatever else comes is a failure. */
function isRefusal(reason: unknown): boolean {
  return !(reason instanceof Error) && field(reason, 'msBeforeNext') !== undefined
}

function read(result: unknown): Count {
  const remaining = Number(field(result, 'remainingPoints'))
  const ms = Number(field(result, 'msBeforeNext'))
  // Not numbers: a store's error that the library took for a count.
  if (!Number.isFinite(remaining) || !Number.isFinite(ms))
    throw new TypeError('rate-limiter-flexible gave a result without numbers')
  const never = ms === NEVER_ENDS || ms >= Number.MAX_SAFE_INTEGER
  return { remaining, endsInMs: never ? Number.POSITIVE_INFINITY : Math.ceil(ms) }
}

const NEVER_ENDS = -1

function untouched({ largestCost }: Counter, left: number): Count {
  return { remaining: Math.max(largestCost, left), endsInMs: 0 }
}

function standing(
  { limit, largestCost }: Counter,
  cost: number,
  allowed: boolean,
  count: Count,
): Standing {
  const remaining = Math.min(limit, Math.max(0, Math.floor(count.remaining)))
  const endsInMs = Math.max(allowed ? 0 : 1, count.endsInMs)
  const refusedMs = cost > largestCost ? Number.POSITIVE_INFINITY : endsInMs
  return {
    allowed,
    remaining,
    retryAfterMs: allowed ? 0 : refusedMs,
    resetMs: remaining < limit ? endsInMs : 0,
    nextMs: remaining < limit ? endsInMs : 0,
    delayMs: 0,
  }
}

/**
 * The key itself where every store takes it. Some stores refuse long keys, white space, NUL or emoji, so
 * a caller could make its calls fail and open the circuit for all: such keys go as their hash.
 */
function keyFor(subject: string): string {
  if (PLAIN.test(subject)) return subject
  return `sha256:${createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex')}`
}

const PLAIN = /^(?!sha256:)[!-~]{1,128}$/
