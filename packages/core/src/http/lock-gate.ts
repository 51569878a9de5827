import type { IncomingMessage, ServerResponse } from 'node:http'
import { LockTimeoutError, StoreUnavailableError } from '../errors.ts'
import { emit } from '../events.ts'
import { hashKeys } from '../lock/grant.ts'
import type { Lease } from '../lock/lease.ts'
import { createLocker, type Locker } from '../lock/locker.ts'
import { checkKeys } from '../lock/request.ts'
import { hasLeft, whenEnded, whenOver } from './client-presence.ts'
import { leaveUndone } from './leave-undone.ts'
import type { LockFramework } from './lock-framework.ts'
import {
  checkLockKey,
  type LockGateOptions,
  type LockKey,
  type ResolvedLockOptions,
  resolveLockOptions,
} from './lock-options.ts'
import { type LockProblemCode, lockProblem } from './lock-problem.ts'
import { secondsUp } from './seconds.ts'

/** A lock in front of handlers: all that Express, Koa and their like have in common. */
export class LockGate<Call extends readonly unknown[]> {
  readonly #owner: string
  readonly #framework: LockFramework<Call>
  readonly #key: LockKey<Call>
  readonly #options: ResolvedLockOptions<Call>
  readonly #locker: Locker

  /**
   * `owner` is the function that was given the key and the options.
   *
   * @throws ConfigurationError (`configuration`) for an option that is unknown, or a key or option that cannot be used.
   */
  constructor(
    owner: string,
    framework: LockFramework<Call>,
    key: LockKey<Call>,
    options: LockGateOptions<Call>,
  ) {
    this.#owner = owner
    this.#framework = framework
    this.#key = key
    checkLockKey(owner, key)
    this.#options = resolveLockOptions(owner, options)
    this.#locker = createLocker(this.#options.locker)
  }

  /**
   * Runs what comes next while the lock is held: until it is done, and the response went out or its client left.
   * Undefined, and nothing is run, when the request was refused, or its client left the line. Rejects with what `next`
   * and callbacks throw.
   */
  surround<T>(call: Call, next: () => T): Promise<Awaited<T> | undefined> {
    return this.#hold(call, next, true)
  }

  /**
   * Runs a handler while the lock is held: until the promise that it returned is settled. What returns none, where
   * handlers answer by themselves, holds it until it has answered, as in `surround`.
   */
  run<T>(call: Call, handler: () => T): Promise<Awaited<T> | undefined> {
    return this.#hold(call, handler, false)
  }

  async #hold<T>(
    call: Call,
    work: () => T,
    untilAnswered: boolean,
  ): Promise<Awaited<T> | undefined> {
    const entry = await this.#enter(call)
    if (!entry) return undefined
    const ended = this.#ended(call)
    const before = this.#framework.kept(...call)
    this.#framework.keep(entry.lease, ...call)
    let worksOn = untilAnswered
    try {
      const result = work()
      if (!isThenable(result)) worksOn ||= this.#framework.answersByItself(...call)
      return await result
    } finally {
      if (worksOn) void this.#answered(call, ended).then(() => end(entry))
      else await end(entry)
      // A handler that is still at work goes on looking for its own lease.
      if (!worksOn || !this.#framework.answersByItself(...call))
        this.#framework.keep(before, ...call)
    }
  }

  #ended(call: Call): Promise<void> {
    const request = this.#framework.request(...call)
    const response = this.#framework.response(...call)
    return new Promise((resolve) => whenEnded(request, response, resolve))
  }

  /** The handler is done with the response, and the client has it, or has left. */
  async #answered(call: Call, ended: Promise<void>): Promise<void> {
    const request = this.#framework.request(...call)
    const response = this.#framework.response(...call)
    await new Promise<void>((resolve) => whenOver(request, response, resolve))
    if (this.#framework.answersByItself(...call) && !response.writableEnded) await ended
  }

  async #enter(call: Call): Promise<Entry | undefined> {
    const key = await this.#keyOf(call)
    const { metadata, waitMs } = this.#options
    const shown = typeof metadata === 'function' ? await metadata(...call) : metadata
    const request = this.#framework.request(...call)
    const response = this.#framework.response(...call)
    const waiting = patience(request, response, waitMs)
    try {
      const lease = await this.#locker.acquire(key, { ...waiting.options, metadata: shown })
      if (!isOver(request, response)) return { lease }
      await end({ lease })
      return this.#leaveUndone(call)
    } catch (error) {
      if (isOver(request, response)) return this.#leaveUndone(call)
      // Who has begun to answer cannot refuse any more.
      if (response.headersSent) throw error
      if (error instanceof LockTimeoutError)
        return this.#refuse(call, 'lock-contended', this.#options.status, error.leftMs)
      if (error instanceof StoreUnavailableError) return this.#withoutStore(call, key, error)
      throw error
    } finally {
      waiting.end()
    }
  }

  async #keyOf(call: Call): Promise<string | readonly string[]> {
    if (typeof this.#key !== 'function') return this.#key
    const key = await this.#key(...call)
    checkKeys(this.#owner, key)
    return key
  }

  #withoutStore(
    call: Call,
    key: string | readonly string[],
    error: StoreUnavailableError,
  ): Entry | undefined {
    if (this.#options.onStoreFailure !== 'open') return this.#refuse(call, 'store-unavailable', 503)
    emit('sluice:lock', () => ({
      type: 'unprotected',
      keyHash: hashKeys(checkKeys(this.#owner, key)),
      error,
    }))
    return { lease: undefined }
  }

  #refuse(call: Call, code: LockProblemCode, status: number, waitMs = 0): undefined {
    const seconds = Math.max(1, secondsUp(waitMs))
    this.#leaveUndone(call)
    this.#framework.response(...call).setHeader('Retry-After', String(seconds))
    this.#framework.send(lockProblem(code, status), ...call)
  }

  #leaveUndone(call: Call): undefined {
    leaveUndone(this.#framework.idempotency(...call))
  }
}

/** A request that may go on: with its lease, or without one. */
interface Entry {
  readonly lease: Lease | undefined
}

/** Its failure masks nothing: the core goes on trying, and says so. */
async function end({ lease }: Entry): Promise<void> {
  await lease?.[Symbol.asyncDispose]()
}

/** Nobody waits for an answer any more: the client has left, or somebody would not wait and has answered. */
function isOver(request: IncomingMessage, response: ServerResponse): boolean {
  return response.writableEnded || hasLeft(request, response)
}

/** Stands in line as long as somebody waits for an answer. */
function patience(request: IncomingMessage, response: ServerResponse, waitMs: number) {
  if (waitMs === 0) return { options: {}, end: () => {} }
  const controller = new AbortController()
  const end = whenOver(request, response, () => controller.abort())
  return { options: { waitMs, signal: controller.signal }, end }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value
}
