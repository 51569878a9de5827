import { emit, hashKey } from '../events.ts'
import type { Decision } from '../rate-limit/decision.ts'
import { giveBack } from '../rate-limit/give-back.ts'
import type { RateLimiter } from '../rate-limit/limiter.ts'
import { addressKey } from './client-address.ts'
import { afterAnswer, waitTurn } from './client-presence.ts'
import { type FieldWriter, fieldWriters } from './fields.ts'
import type { Framework } from './framework.ts'
import { leaveUndone } from './leave-undone.ts'
import { limiterSource } from './limiter-source.ts'
import { problemOf } from './problem.ts'
import { warnOfProxy } from './proxy-warning.ts'
import {
  type RateLimitOptions,
  type ResolvedOptions,
  resolveOptions,
} from './rate-limit-options.ts'
import { writeRetryAfter } from './retry-after.ts'

/** A rate limit in front of handlers: all that Express, Koa and their like have in common. */
export class RateLimitGate<Call extends readonly unknown[]> {
  readonly #framework: Framework<Call>
  readonly #options: ResolvedOptions<Call>
  readonly #writers: readonly FieldWriter[]
  readonly #limiterFor: (call: Call) => RateLimiter | Promise<RateLimiter>

  /** @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used. */
  constructor(framework: Framework<Call>, options: RateLimitOptions<Call>) {
    this.#framework = framework
    this.#options = resolveOptions(options)
    this.#writers = this.#options.formats.map((format) => fieldWriters[format])
    this.#limiterFor = limiterSource(this.#options)
  }

  /**
   * Decides one request: true when it may go on to its handler, false when it was answered, or when its
   * client left while it waited for its turn. Rejects with what a callback threw, or a ConfigurationError
   * for a key or cost that cannot be; then nothing was charged.
   */
  async enter(...call: Call): Promise<boolean> {
    const { skip, key, cost } = this.#options
    try {
      if (skip && (await skip(...call))) return true
      const source = this.#limiterFor(call)
      const limiter = source instanceof Promise ? await source : source
      const subject = key ? await key(...call) : this.#addressOf(call)
      const units = typeof cost === 'number' ? cost : await cost(...call)
      const decision = await limiter.consume(subject, { cost: units })
      this.#tell(call, limiter, subject, units, decision)
      if (decision.allowed && this.#options.refund)
        this.#refundLater(call, limiter, subject, units, decision)
      const going = this.#follow(call, decision)
      return going === true || (await going)
    } catch (error) {
      throw asError(error)
    }
  }

  /** Does what was decided, unless this is a trial. */
  #follow(call: Call, decision: Decision): true | Promise<boolean> {
    if (!this.#options.enforce) return true
    if (!decision.allowed) return this.#refuse(call, decision)
    if (decision.delayMs === 0) return true
    const framework = this.#framework
    return waitTurn(framework.request(...call), framework.response(...call), decision.delayMs)
  }

  #addressOf(call: Call): string {
    const framework = this.#framework
    warnOfProxy(
      framework.request(...call).headers,
      () => framework.proxyTrust(...call),
      framework.proxyAdvice,
    )
    return addressKey(framework.address(...call), this.#options.ipv6Prefix)
  }

  #tell(call: Call, limiter: RateLimiter, subject: string, cost: number, decision: Decision): void {
    const { enforce } = this.#options
    this.#framework.keep(decision, ...call)
    emit('sluice:rate-limit', () => ({
      type: 'decision',
      limiter: limiter.name,
      keyHash: hashKey(subject),
      cost,
      decision,
      enforced: enforce,
    }))
    const response = this.#framework.response(...call)
    // Somebody who would not wait for the decision has answered.
    if (response.headersSent) return
    for (const write of this.#writers) write(response, decision, limiter.policies)
    if (!decision.allowed && (enforce || this.#writers.length > 0))
      writeRetryAfter(response, decision)
  }

  async #refuse(call: Call, decision: Decision): Promise<false> {
    const { onLimited } = this.#options
    const framework = this.#framework
    if (framework.response(...call).writableEnded) return false
    leaveUndone(framework.idempotency(...call))
    if (!onLimited || decision.source === 'closed') {
      framework.send(problemOf(decision), ...call)
      return false
    }
    framework.setStatus(429, ...call)
    try {
      await onLimited(...call, decision)
    } catch (error) {
      // Express would answer the application's own mistake with the status that stands.
      framework.setStatus(500, ...call)
      throw error
    }
    return false
  }

  #refundLater(
    call: Call,
    limiter: RateLimiter,
    subject: string,
    cost: number,
    decision: Decision,
  ): void {
    const { refund } = this.#options
    const settle = async () => {
      try {
        if (refund && (await refund(...call))) await giveBack(limiter, decision, subject, cost)
      } catch (error) {
        // The answer is gone: no error handler could still do anything with it.
        emit('sluice:rate-limit', () => ({
          type: 'refund-failed',
          limiter: limiter.name,
          keyHash: hashKey(subject),
          cost,
          error,
        }))
      }
    }
    afterAnswer(
      this.#framework.request(...call),
      this.#framework.response(...call),
      () => void settle(),
    )
  }
}

/** Frameworks take some values, when thrown, for no error at all, and never answer or go on to the handler. */
function asError(thrown: unknown): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown
  return new Error(`a callback of rateLimit() threw ${String(thrown)}`, { cause: thrown })
}
