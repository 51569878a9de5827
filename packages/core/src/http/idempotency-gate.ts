import type { IncomingMessage, ServerResponse } from 'node:http'
import { StoreUnavailableError } from '../errors.ts'
import { emit } from '../events.ts'
import { hashSubject } from '../idempotency/execution.ts'
import {
  type Begun,
  createIdempotency,
  type Execution,
  type Idempotency,
} from '../idempotency/idempotency.ts'
import type { StoredResponse } from '../idempotency/record.ts'
import { isOfWaiting } from '../idempotency/waiting.ts'
import { warnOfCookies } from './cookie-warning.ts'
import type { IdempotencyFramework } from './idempotency-framework.ts'
import { readKey } from './idempotency-key.ts'
import {
  type IdempotencyGateOptions,
  type ResolvedIdempotencyOptions,
  resolveIdempotencyOptions,
} from './idempotency-options.ts'
import { idempotencyProblem, type ProblemCode } from './idempotency-problem.ts'
import { ProtectedRun } from './protected-run.ts'
import { prepareReplay } from './replay.ts'
import { fingerprintFor, scopeOf } from './request-claim.ts'
import { secondsUp } from './seconds.ts'

/** Idempotency in front of handlers: all that Express, Koa and their like have in common. */
export class IdempotencyGate<Call extends readonly unknown[]> {
  readonly #framework: IdempotencyFramework<Call>
  readonly #options: ResolvedIdempotencyOptions<Call>
  readonly #idempotency: Idempotency

  /** @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used. */
  constructor(framework: IdempotencyFramework<Call>, options: IdempotencyGateOptions<Call>) {
    this.#framework = framework
    this.#options = resolveIdempotencyOptions(options)
    this.#idempotency = createIdempotency(this.#options.core)
  }

  /**
   * Decides one request: true when it may go on to its handler, false when it was answered, or nobody waits for an
   * answer. Rejects with what a callback threw, and for a body that nobody has read; then nothing was claimed.
   */
  async enter(...call: Call): Promise<boolean> {
    const request: GatedRequest = this.#framework.request(...call)
    if (!this.#protects(request)) return true
    const field = readKey(request.rawHeaders, this.#options.header)
    if (field.state === 'invalid')
      return this.#refuse(call, 'idempotency-key-invalid', field.detail)
    if (field.state === 'absent')
      return this.#options.required ? this.#refuse(call, 'idempotency-key-missing') : true
    // Answered already: there is nothing to keep, and nobody would ever end the run.
    if (this.#framework.response(...call).writableEnded) return false
    request[running] = undefined
    const { key } = field
    const scope = this.#options.scope && (await scopeOf(this.#options.scope, call))
    const asked = fingerprintFor(this.#framework, this.#options, call)
    const fingerprint = asked instanceof Promise ? await asked : asked
    if (fingerprint === undefined) return this.#refuse(call, 'idempotency-body-too-deep')
    // Awaited: a promise that an async function returns takes two turns more.
    return await this.#begin(call, { key, scope, fingerprint })
  }

  /** Tells that what the request went on to failed, where nobody else hears of an error after the head. */
  failed(...call: Call): void {
    const request: GatedRequest = this.#framework.request(...call)
    request[running]?.failed()
  }

  #protects(request: GatedRequest): boolean {
    if (!this.#options.protects.has(request.method ?? '')) return false
    // Node.js sets it only where the server listens for upgrades. A second gate on the way leaves it to the first.
    return !Reflect.get(request, 'upgrade') && !(running in request)
  }

  async #begin(call: Call, subject: ClaimedSubject): Promise<boolean> {
    const { key, scope, fingerprint } = subject
    const { authorization, cookie } = this.#framework.request(...call).headers
    if (scope === undefined && authorization === undefined && cookie !== undefined) warnOfCookies()
    const waiting = new Patience(this.#framework.response(...call), this.#options.waitMs)
    try {
      const begun = await this.#idempotency.begin({
        key,
        scope,
        fingerprint,
        caller: scope === undefined ? authorization : undefined,
        waitMs: this.#options.waitMs,
        signal: waiting.signal,
      })
      const isOver = waiting.isOver
      if (begun.state === 'started') return this.#run(call, key, begun.execution, isOver)
      // Not awaited: what a callback throws is no failure of the store.
      return isOver ? false : this.#answer(call, begun)
    } catch (error) {
      if (waiting.isOver) return false
      if (!(error instanceof StoreUnavailableError)) throw error
      return this.#withoutStore(call, subject, error)
    } finally {
      waiting.end()
    }
  }

  /** Nobody waits any more: nothing has happened, so a retry may run. */
  #run(call: Call, key: string, execution: Execution, isOver: boolean): true | Promise<false> {
    const request: GatedRequest = this.#framework.request(...call)
    const response = this.#framework.response(...call)
    if (isOver || response.destroyed || request.socket?.destroyed)
      return execution.release().then(no, no)
    const run = new ProtectedRun(request, response, { key, execution }, this.#options)
    request[running] = run
    this.#framework.keep(run.handle, ...call)
    return true
  }

  async #answer(
    call: Call,
    begun: Exclude<Begun, { readonly state: 'started' }>,
  ): Promise<boolean> {
    const response = this.#framework.response(...call)
    switch (begun.state) {
      case 'mismatch':
        return this.#refuse(call, 'idempotency-key-reused')
      case 'stranger':
        return this.#refuse(call, 'idempotency-key-scope')
      case 'unknown':
        return this.#refuse(call, 'idempotency-outcome-unknown')
      case 'in-progress':
        response.setHeader('Retry-After', String(Math.max(1, secondsUp(begun.retryAfterMs))))
        return this.#refuse(call, 'idempotency-in-progress')
      case 'tombstone':
        if (!(await this.#mayReplay(call))) return this.#refuse(call, 'idempotency-replay-refused')
        if (begun.tombstone.location !== undefined)
          response.setHeader('Location', begun.tombstone.location)
        return this.#refuse(call, 'idempotency-result-not-replayable')
      case 'replay':
        if (!(await this.#mayReplay(call))) return this.#refuse(call, 'idempotency-replay-refused')
        return await this.#replay(call, begun.response)
    }
  }

  #mayReplay(call: Call): boolean | Promise<boolean> {
    const { authorizeReplay } = this.#options
    return !authorizeReplay || Promise.resolve(authorizeReplay(...call))
  }

  async #replay(call: Call, stored: StoredResponse): Promise<false> {
    const accepted = this.#framework.request(...call).headers['accept-encoding']
    const response = this.#framework.response(...call)
    const replay = prepareReplay(stored, String(accepted ?? ''), response)
    this.#framework.replay(replay instanceof Promise ? await replay : replay, ...call)
    return false
  }

  #withoutStore(call: Call, subject: ClaimedSubject, error: StoreUnavailableError): boolean {
    if (this.#options.onStoreFailure === 'open' && !isOfWaiting(error)) {
      const { key, scope = '' } = subject
      emit('sluice:idempotency', () => ({
        type: 'unprotected',
        keyHash: hashSubject({ scope, key }),
        error,
      }))
      return true
    }
    this.#framework.response(...call).setHeader('Retry-After', '1')
    return this.#refuse(call, 'store-unavailable')
  }

  #refuse(call: Call, code: ProblemCode, detail?: string): false {
    const { documentation } = this.#options
    const response = this.#framework.response(...call)
    if (documentation !== undefined) {
      const link = `<${documentation}>; rel="describedby"`
      const earlier = response.getHeader('Link')
      response.setHeader('Link', earlier === undefined ? link : [earlier, link].flat().map(String))
    }
    this.#framework.send(idempotencyProblem(code, detail), ...call)
    return false
  }
}

/** Marks requests that a gate has let in, or is about to. In a WeakMap they would live until a full garbage collection. */
const running = Symbol('running')

interface GatedRequest extends IncomingMessage {
  /** What runs for it. */
  [running]?: ProtectedRun | undefined
}

interface ClaimedSubject {
  readonly key: string
  readonly scope: string | undefined
  readonly fingerprint: string
}

/**
 * Waits for another's result as long as the client does. It is over, too, when somebody else answers meanwhile: a
 * middleware that lets no request take longer, say.
 */
class Patience {
  readonly #response: ServerResponse
  readonly #wasAnswered: boolean
  readonly #controller: AbortController | undefined

  constructor(response: ServerResponse, waitMs: number) {
    this.#response = response
    this.#wasAnswered = response.headersSent
    if (waitMs === 0) return
    this.#controller = new AbortController()
    response.once('close', this.#leave)
  }

  get signal(): AbortSignal | undefined {
    return this.#controller?.signal
  }

  get isOver(): boolean {
    return this.signal?.aborted || (this.#response.headersSent && !this.#wasAnswered)
  }

  end(): void {
    if (this.#controller) this.#response.off('close', this.#leave)
  }

  readonly #leave = (): void => this.#controller?.abort()
}

function no(): false {
  return false
}
