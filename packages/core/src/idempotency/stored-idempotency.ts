import { ConfigurationError } from '../errors.ts'
import { duration } from '../options.ts'
import { GuardedPort } from '../resilience/guarded-port.ts'
import type { Store } from '../store.ts'
import { newToken } from '../token.ts'
import { digestCaller, digestFingerprint } from './digest.ts'
import { hashSubject, StoredExecution } from './execution.ts'
import type { Begun, Idempotency, IdempotencyOptions, IdempotencyRequest } from './idempotency.ts'
import type { IdempotencyRecord, StoredResponse } from './record.ts'
import { checkResponse } from './response-check.ts'
import type { Claim, ClaimReply, Lifetimes, Subject } from './store.ts'
import { waitForNews } from './waiting.ts'
import { withdraw } from './withdrawal.ts'

/** The options over their defaults. */
type ResolvedIdempotency = {
  readonly [Name in Exclude<keyof IdempotencyOptions, 'store' | 'authority'>]-?: Exclude<
    IdempotencyOptions[Name],
    undefined
  >
}

/** What {@link createIdempotency} makes: claims, and what operators may do. */
export class StoredIdempotency implements Idempotency {
  readonly #store: GuardedPort<'idempotency'>
  readonly #lifetimes: Lifetimes
  readonly #maxRunMs: number
  readonly #rerun: boolean
  readonly #transactional: boolean

  constructor(store: Store, options: ResolvedIdempotency) {
    const { leaseMs, resultTtlMs, maxRunMs, onUnknown, transactional, timeoutMs } = options
    this.#store = new GuardedPort(store, 'idempotency', timeoutMs)
    if (transactional && !this.#store.raw.begin) throw noTransactions(transactional)
    this.#transactional = transactional
    this.#lifetimes = { leaseMs, resultTtlMs }
    this.#maxRunMs = maxRunMs
    this.#rerun = transactional || onUnknown === 'rerun'
  }

  async begin(request: IdempotencyRequest): Promise<Begun> {
    checkRequest(request)
    const { key, scope = '', fingerprint, caller, waitMs = 0, signal } = request
    signal?.throwIfAborted()
    const untilMs = performance.now() + waitMs
    const subject = { scope, key }
    const { leaseMs, resultTtlMs } = this.#lifetimes
    const claim: Claim = {
      leaseMs,
      resultTtlMs,
      owner: newToken(),
      fingerprint: digestFingerprint(fingerprint),
      caller: digestCaller(caller),
      rerun: this.#rerun,
      willWait: waitMs > 0,
    }
    const begun = await this.#claim(subject, claim, signal)
    if (begun.state !== 'in-progress' || waitMs === 0) return begun
    return waitForNews(begun, {
      untilMs,
      signal,
      watch: this.#store.raw.watch(subject),
      ask: () => this.#claim(subject, claim, signal),
      isOver: ({ state }) => state !== 'in-progress',
    })
  }

  async inspect(key: string, scope = ''): Promise<IdempotencyRecord | undefined> {
    checkSubject('inspect', key, scope)
    return this.#store.ask('inspect', (store) => store.read({ scope, key }))
  }

  async confirm(key: string, response: StoredResponse, scope = ''): Promise<boolean> {
    checkSubject('confirm', key, scope)
    checkResponse('confirm', response)
    const reply = await this.#store.ask('confirm', (store) =>
      store.settle({ scope, key }, undefined, { state: 'completed', response }, this.#lifetimes),
    )
    return reply !== 'refused'
  }

  async release(key: string, scope = ''): Promise<boolean> {
    checkSubject('release', key, scope)
    const reply = await this.#store.ask('release', (store) =>
      store.settle({ scope, key }, undefined, { state: 'absent' }, this.#lifetimes),
    )
    return reply !== 'refused'
  }

  async *unknown(): AsyncGenerator<IdempotencyRecord, void, undefined> {
    // What moves while it is listed may come twice.
    const told = new Set<string>()
    let from: number | undefined = 0
    while (from !== undefined) {
      const start: number = from
      const page = await this.#store.ask('unknown', (store) => store.unknown(start))
      for (const record of page.records) {
        const id = hashSubject(record)
        if (!told.has(id)) yield record
        told.add(id)
      }
      from = page.next
    }
  }

  async #claim(subject: Subject, claim: Claim, signal: AbortSignal | undefined): Promise<Begun> {
    const startedAt = performance.now()
    let underWay: Promise<ClaimReply> | undefined
    const ask = (): Promise<ClaimReply> => {
      underWay = this.#store.raw.claim(subject, claim)
      return underWay
    }
    try {
      const reply = await this.#store.ask('claim', ask, signal)
      return this.#begun(reply, subject, claim.owner, startedAt)
    } catch (error) {
      if (underWay && this.#store.raw.remote)
        withdraw(this.#store, subject, claim.owner, this.#lifetimes, underWay)
      throw error
    }
  }

  #begun(reply: ClaimReply, subject: Subject, owner: string, startedAt: number): Begun {
    if (reply.state === 'started') {
      const { attempt, fence } = reply
      const grant = { store: this.#store, subject, owner, attempt, fence, startedAt }
      const limits = { lifetimes: this.#lifetimes, maxRunMs: this.#maxRunMs }
      const execution = new StoredExecution({
        ...grant,
        ...limits,
        transactional: this.#transactional,
      })
      return { state: 'started', execution }
    }
    if (reply.state === 'in-progress') {
      const { runningMs, leaseLeftMs } = reply
      const retryAfterMs = Math.min(leaseLeftMs, Math.max(SOONEST_RETRY_MS, runningMs))
      return { state: 'in-progress', retryAfterMs }
    }
    if (reply.state === 'withdrawn') throw new TypeError('a claim was withdrawn before it was made')
    return reply
  }
}

const SOONEST_RETRY_MS = 1000

function noTransactions(given: boolean): ConfigurationError {
  const expected = 'false, or given with a store that has transactions: postgresStore(pool)'
  return new ConfigurationError('idempotency', 'transactional', given, expected)
}

/** Checked before anything is sent, so that a wrong call claims nothing. */
function checkRequest(request: IdempotencyRequest): void {
  const { key, scope, fingerprint, caller, waitMs = 0 } = Object(request) as IdempotencyRequest
  checkSubject('begin', key, scope ?? '')
  // A `scope` that is misspelt would let the keys of different customers meet.
  for (const name in request)
    if (!requestNames.has(name))
      throw new ConfigurationError('begin', name, Reflect.get(request, name), NO_SUCH)
  if (typeof fingerprint !== 'string' && !(fingerprint instanceof Uint8Array))
    throw new ConfigurationError('begin', 'fingerprint', fingerprint, 'a string or a Uint8Array')
  if (caller !== undefined && typeof caller !== 'string')
    throw new ConfigurationError('begin', 'caller', caller, 'a string')
  if (!wait.accepts(waitMs)) throw new ConfigurationError('begin', 'waitMs', waitMs, wait.expected)
}

function checkSubject(owner: string, key: unknown, scope: unknown): void {
  if (typeof key !== 'string' || key === '')
    throw new ConfigurationError(owner, 'key', key, 'a non-empty string')
  if (typeof scope !== 'string') throw new ConfigurationError(owner, 'scope', scope, 'a string')
}

const wait = duration(0)

const requestNames: ReadonlySet<string> = new Set<keyof IdempotencyRequest>([
  'key',
  'scope',
  'fingerprint',
  'caller',
  'waitMs',
  'signal',
])

const NO_SUCH = `absent, since there is no such argument (known are ${[...requestNames].join(', ')})`
