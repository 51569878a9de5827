import { randomUUID } from 'node:crypto'
import type { RedisPort } from '../redis/client.ts'
import { isReplyError } from '../redis/script-runner.ts'
import { standing } from './algorithms/standing.ts'
import type { Policy } from './policy.ts'
import type { Standing } from './store.ts'

/**
 * Single fixed windows by `INCREX`, on servers that have it and answer as documented (Redis 8.8). Found out by
 * asking on a scratch key once a connection, never by a version; anything unexpected means the script.
 *
 * A key lives through the millisecond in which it expires, so the TTL is one less than the window, and
 * what is left one more than `PTTL` says: the same milliseconds as the script, which treats 0 as over.
 */
export class NativeWindow {
  readonly #redis: RedisPort
  readonly #scratchPrefix: string
  #support: 'unknown' | 'asking' | 'yes' | 'no' = 'unknown'
  /** Some proxies close the connection on a command they do not know. */
  #unanswered = 0
  readonly #stopListening: () => void

  constructor(redis: RedisPort, prefix: string) {
    this.#redis = redis
    this.#scratchPrefix = `${prefix}:probe:`
    // Another connection may lead to another server.
    this.#stopListening = redis.onConnected(() => {
      if (this.#unanswered < MAX_UNANSWERED) this.#support = 'unknown'
    })
  }

  close(): void {
    this.#stopListening()
  }

  /** Whether `INCREX` may serve these policies now. Asks the server in the background where that is not known. */
  serves(policies: readonly Policy[]): boolean {
    const [policy, second] = policies
    if (!policy || second || policy.algorithm !== 'fixed-window') return false
    if (policy.limit === 0 || policy.windowMs < 2) return false
    if (this.#support === 'unknown') void this.#ask()
    return this.#support === 'yes'
  }

  /** The standing after the call; undefined when the server answered with an error: then nothing happened. */
  async consume(key: string, policy: Policy, cost: number): Promise<Standing | undefined> {
    const { limit, windowMs } = policy
    try {
      const [counted, ttlMs] = await Promise.all([
        this.#increx(key, cost, limit, windowMs - 1),
        this.#redis.send(key, ['PTTL', key]),
      ])
      const reply = decodeIncrex(counted)
      if (!reply || typeof ttlMs !== 'number') {
        this.#support = 'no'
        throw new TypeError('INCREX and PTTL did not reply as documented')
      }
      const leftMs = ttlMs >= -1 ? await this.#heal(key, windowMs, ttlMs) : 1
      const state = { used: reply.value, endsAt: leftMs }
      return standing(state, policy, 0, { allowed: reply.applied, cost, delayMs: 0 })
    } catch (error) {
      if (isReplyError(error, 'ERR unknown command')) this.#support = 'no'
      // A key that holds something else is the script's to heal.
      else if (!isReplyError(error, 'ERR') && !isReplyError(error, 'WRONGTYPE')) throw error
      return undefined
    }
  }

  /** A window that lost its TTL, or was shortened since, ends no later than a new one. */
  async #heal(key: string, windowMs: number, ttlMs: number): Promise<number> {
    if (ttlMs >= 0 && ttlMs < windowMs) return ttlMs + 1
    await this.#redis.send(key, ['PEXPIRE', key, String(windowMs - 1)])
    return windowMs
  }

  #increx(key: string, by: number, bound: number, ttlMs: number): Promise<unknown> {
    const command = ['BYINT', String(by), 'UBOUND', String(bound), 'PX', String(ttlMs), 'ENX']
    return this.#redis.send(key, ['INCREX', key, ...command])
  }

  async #ask(): Promise<void> {
    this.#support = 'asking'
    let answer: boolean | undefined
    try {
      answer = await this.#probe()
    } catch (error) {
      // Unknown, or not allowed. What else goes wrong says nothing of the command, but is not asked for ever.
      const final = isReplyError(error, 'ERR') || isReplyError(error, 'NOPERM')
      if (final || ++this.#unanswered >= MAX_UNANSWERED) answer = false
    }
    // A connection that was made meanwhile is a question of its own.
    if (this.#support !== 'asking') return
    if (answer === undefined) this.#support = 'unknown'
    else this.#support = answer ? 'yes' : 'no'
  }

  /** Charges a scratch key, is refused on it, and finds a TTL: all three as documented, or the command is not the one we know. */
  async #probe(): Promise<boolean> {
    const key = this.#scratchPrefix + randomUUID()
    const charged = decodeIncrex(await this.#increx(key, 2, 3, PROBE_TTL_MS))
    const refused = decodeIncrex(await this.#increx(key, 2, 3, PROBE_TTL_MS))
    const ttlMs = Number(await this.#redis.send(key, ['PTTL', key]))
    return (
      charged?.value === 2 &&
      charged.applied &&
      refused?.value === 2 &&
      !refused.applied &&
      ttlMs > 0 &&
      ttlMs <= PROBE_TTL_MS
    )
  }
}

const PROBE_TTL_MS = 10_000
const MAX_UNANSWERED = 3

/** `[new, applied]`, where 0 applied means refused; undefined for any other shape. */
export function decodeIncrex(
  reply: unknown,
): { readonly value: number; readonly applied: boolean } | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined
  const [value, applied]: unknown[] = reply
  if (!Number.isSafeInteger(value) || !Number.isSafeInteger(applied)) return undefined
  return { value: Number(value), applied: applied !== 0 }
}
