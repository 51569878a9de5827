import { ConfigurationError, LockTimeoutError } from '../errors.ts'
import { emit } from '../events.ts'
import { GuardedPort } from '../resilience/guarded-port.ts'
import type { Store } from '../store.ts'
import { newToken } from '../token.ts'
import type { Taken, Wait } from './caller.ts'
import { hashKeys, type TimedGrant } from './grant.ts'
import { Holding } from './holding.ts'
import type { Lease } from './lease.ts'
import { Lines } from './lines.ts'
import type { AcquireOptions, Locker, LockerOptions, LockState } from './locker.ts'
import { poll } from './polling.ts'
import { Replicas } from './replicas.ts'
import { checkAcquire, checkKey, checkKeys, NO_OPTIONS } from './request.ts'
import { takeSeveral } from './several.ts'
import type { LockKeys } from './store.ts'
import { takeOnce } from './taking.ts'

/** The options over their defaults. */
export type ResolvedLocker = {
  readonly [Name in 'leaseMs' | 'maxHoldMs' | 'timeoutMs' | 'handOver']-?: Exclude<
    LockerOptions[Name],
    undefined
  >
} & Pick<LockerOptions, 'renew' | 'replicas'>

/** What {@link createLocker} makes. */
export class StoredLocker implements Locker {
  readonly #options: ResolvedLocker
  readonly #port: GuardedPort<'lock'>
  readonly #lines: Lines | undefined
  readonly #replicas: Replicas | undefined
  readonly #leaseMs: number

  constructor(store: Store, options: ResolvedLocker) {
    this.#options = options
    this.#port = new GuardedPort(store, 'lock', options.timeoutMs)
    const { raw } = this.#port
    if (raw.lines && options.handOver) this.#lines = Lines.of(raw)
    if (options.replicas) this.#replicas = new Replicas(store, options.timeoutMs, options.replicas)
    this.#leaseMs = Math.min(options.leaseMs, options.maxHoldMs)
  }

  acquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    return this.#acquire('acquire', key, options, this.#options.renew ?? false)
  }

  async tryAcquire(
    key: string | readonly string[],
    options: Omit<AcquireOptions, 'waitMs'> = NO_OPTIONS,
  ): Promise<Lease | undefined> {
    const taken = await this.#take('tryAcquire', key, options, this.#options.renew ?? false)
    return taken instanceof Holding ? taken : undefined
  }

  async using<T>(
    key: string | readonly string[],
    options: AcquireOptions,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<T> {
    if (typeof work !== 'function')
      throw new ConfigurationError('using', 'work', work, 'a function')
    const lease = await this.#acquire('using', key, options, this.#options.renew ?? true)
    try {
      return await work(lease)
    } finally {
      await lease[Symbol.asyncDispose]()
    }
  }

  async inspect(key: string): Promise<LockState | undefined> {
    const checked = checkKey('inspect', key)
    const holder = await this.#port.ask('inspect', (store) => store.inspect(checked))
    if (!holder) return undefined
    const { metadata, ...state } = holder
    return { ...state, metadata: metadata === '' ? undefined : JSON.parse(metadata) }
  }

  async #acquire(
    owner: string,
    key: string | readonly string[],
    options: AcquireOptions,
    renews: boolean,
  ): Promise<Holding> {
    const taken = await this.#take(owner, key, options, renews)
    if (taken instanceof Holding) return taken
    throw new LockTimeoutError(key, Math.round(taken.waitedMs), Math.ceil(taken.leftMs))
  }

  async #take(
    owner: string,
    key: string | readonly string[],
    options: AcquireOptions,
    renews: boolean,
  ): Promise<Holding | Refusal> {
    const keys = checkKeys(owner, key)
    const { waitMs, signal, metadata } = checkAcquire(owner, options)
    signal?.throwIfAborted()
    if (keys.length > 1) this.#port.raw.check(keys)
    const claim = { token: newToken(), leaseMs: this.#leaseMs, metadata }
    const startedAt = performance.now()
    const taken = await this.#wait(keys, { port: this.#port, claim, waitMs, signal })
    if (!('fence' in taken)) return this.#refused(keys, taken.leftMs, startedAt)
    const { maxHoldMs } = this.#options
    const hold = { port: this.#port, key, keys, grant: taken, maxHoldMs, renews, giver: this }
    const holding = new Holding(hold)
    if (this.#replicas) await this.#replicas.confirm(holding)
    emit('sluice:lock', () => ({
      type: 'acquired',
      keyHash: hashKeys(keys),
      fence: taken.fence,
      waitMs: performance.now() - startedAt,
    }))
    return holding
  }

  #refused(keys: LockKeys, leftMs: number, startedAt: number): Refusal {
    const waitedMs = performance.now() - startedAt
    emit('sluice:lock', () => ({ type: 'timed-out', keyHash: hashKeys(keys), waitedMs }))
    return { leftMs, waitedMs }
  }

  #wait(keys: LockKeys, wait: Wait): Promise<Taken> {
    if (wait.waitMs === 0) return takeOnce(wait, keys)
    if (!this.#lines) return poll(keys, wait)
    return keys.length > 1 ? takeSeveral(this.#lines, keys, wait) : this.#lines.wait(keys[0], wait)
  }

  /** For the leases that it made. */
  async giveBack(keys: LockKeys, grant: TimedGrant): Promise<boolean> {
    const lines = this.#lines
    if (lines && keys.length === 1) return lines.release(keys[0], this.#port, grant)
    const quiet = lines === undefined
    try {
      return await this.#port.ask('release', (store) => store.release(keys, grant, quiet))
    } finally {
      for (const key of keys) lines?.freed(key)
    }
  }
}

interface Refusal {
  readonly leftMs: number
  readonly waitedMs: number
}
