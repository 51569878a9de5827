import { ConfigurationError } from '../errors.ts'
import { lockScripts, type Script } from '../generated/lua.ts'
import type { RedisPort } from '../redis/client.ts'
import type { Listening, Messages } from '../redis/messages.ts'
import { isReplyError, runScript } from '../redis/script-runner.ts'
import { slotOf } from '../redis/slots.ts'
import { NativeRelease } from './native-release.ts'
import { type RedisLockKeys, redisLockKeys } from './redis-keys.ts'
import { replicas } from './redis-replicas.ts'
import { decodeAcquire, decodeHolder, decodePass } from './redis-replies.ts'
import { RedisTurns } from './redis-turns.ts'
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

/** Keeps leases in Redis: one script a change, and a message to the one whose turn it is. */
export class RedisLockStore implements LockStore {
  readonly remote = true
  readonly lines = true
  readonly replicated?: NonNullable<LockStore['replicated']>
  readonly #redis: RedisPort
  readonly #prefix: string
  readonly #turns: RedisTurns
  readonly #native: NativeRelease
  /** One hash slot a script: a cluster, or what turned out to be one behind a proxy. */
  #oneSlot: boolean
  #last: { readonly key: string; readonly names: RedisLockKeys } | undefined

  constructor(redis: RedisPort, messages: Messages, prefix: string) {
    this.#redis = redis
    this.#prefix = `${prefix}:lock:`
    this.#turns = new RedisTurns(messages)
    this.#native = new NativeRelease(redis, `${prefix}:probe:`)
    this.#oneSlot = redis.cluster
    if (redis.oneConnection)
      this.replicated = (keys, grant, min, waitMs) =>
        replicas(
          redis,
          keys.map((key) => this.#keys(key).holder) as unknown as Names,
          grant,
          min,
          waitMs,
        )
  }

  close(): void {
    this.#native.close()
  }

  check(keys: LockKeys): void {
    if (!this.#oneSlot || keys.length === 1) return
    const slots = keys.map((key) => slotOf(this.#keys(key).holder))
    if (new Set(slots).size > 1) throw differentSlots(keys)
  }

  async acquire(keys: LockKeys, claim: LockClaim, place?: Place): Promise<AcquireReply> {
    const args = claimArgs(claim)
    if (keys.length > 1) return this.#acquireAll(keys, args)
    const names = this.#keys(keys[0])
    if (place) args.push(...this.#placeArgs(names, place))
    return decodeAcquire(await this.#run(lockScripts.acquire, allOf(names), args))
  }

  async release(keys: LockKeys, grant: LockGrant | LockClaim, quiet = false): Promise<boolean> {
    if (quiet && keys.length === 1 && 'fence' in grant) {
      const { holder } = this.#keys(keys[0])
      if (await this.#native.release(holder, leaseValue(grant))) return true
    }
    const names =
      keys.length === 1
        ? holderAndLine(this.#keys(keys[0]))
        : (keys.flatMap((key) => holderAndLine(this.#keys(key))) as unknown as Names)
    return isOne(await this.#run(lockScripts.release, names, [grant.token]))
  }

  async pass(
    key: string,
    { token }: LockGrant,
    next: LockClaim,
    place: Place,
    keepsTurn: boolean,
  ): Promise<PassReply> {
    const names = this.#keys(key)
    const claim = [...claimArgs(next), ...this.#placeArgs(names, place)]
    const args = [token, ...claim, keepsTurn ? '1' : '0']
    return decodePass(await this.#run(lockScripts.pass, allOf(names), args))
  }

  async extend(keys: LockKeys, { token }: LockGrant, leaseMs: number): Promise<boolean> {
    const names = keys.map((key) => this.#keys(key).holder)
    return isOne(
      await this.#run(lockScripts.extend, names as unknown as Names, [token, wholeMs(leaseMs)]),
    )
  }

  /** Gives a lease that is this owner's the fence that was agreed with other masters. */
  async agree(keys: LockKeys, { token, fence }: LockGrant): Promise<boolean> {
    const names = keys.flatMap((key) => holderAndFence(this.#keys(key)))
    const args = [token, String(fence)]
    return isOne(await this.#run(lockScripts.agree, names as unknown as Names, args))
  }

  async leave(key: string, waiter: string): Promise<void> {
    const names = this.#keys(key)
    await this.#run(lockScripts.leave, holderAndLine(names), [this.#nameInLine(names, waiter)])
  }

  async inspect(key: string): Promise<LockHolder | undefined> {
    const names = holderAndLine(this.#keys(key))
    return decodeHolder(await this.#run(lockScripts.inspect, names, []))
  }

  listen(key: string, waiter: string, onTurn: () => void): Listening {
    const names = this.#keys(key)
    return this.#turns.listen(this.#nameInLine(names, waiter).slice(1), names.holder, onTurn)
  }

  async #acquireAll(keys: LockKeys, args: readonly string[]): Promise<AcquireReply> {
    const names = keys.flatMap((key) => allOf(this.#keys(key))) as unknown as Names
    try {
      return decodeAcquire(await this.#run(lockScripts.acquireAll, names, args))
    } catch (error) {
      // Nothing ran: a server that takes no keys of different slots looked at them first.
      if (!isReplyError(error, 'CROSSSLOT')) throw error
      this.#oneSlot = true
      throw differentSlots(keys)
    }
  }

  #run(script: Script, keys: Names, args: readonly string[]): Promise<unknown> {
    return runScript(this.#redis, script, keys, args)
  }

  /** What was locked just now is often what is released next. */
  #keys(key: string): RedisLockKeys {
    if (this.#last?.key !== key) this.#last = { key, names: redisLockKeys(this.#prefix, key) }
    return this.#last.names
  }

  #placeArgs(names: RedisLockKeys, { waiter, since }: Place): readonly string[] {
    return [this.#nameInLine(names, waiter), since === undefined ? '' : String(since)]
  }

  /**
   * Where its wake-ups go, as lua/lock/line.lua reads it: one channel of the process for all locks, save in a Cluster,
   * where it must lie in the slot of the lock, so that the node that publishes is the one that is listened to.
   */
  #nameInLine({ holder }: RedisLockKeys, waiter: string): string {
    return this.#redis.cluster ? `s${holder}:${waiter}` : `p${this.#prefix}turn:${waiter}`
  }
}

type Names = readonly [string, ...string[]]

function allOf({ holder, fence, line }: RedisLockKeys): Names {
  return [holder, fence, line]
}

function holderAndLine({ holder, line }: RedisLockKeys): Names {
  return [holder, line]
}

function holderAndFence({ holder, fence }: RedisLockKeys): Names {
  return [holder, fence]
}

function claimArgs({ token, leaseMs, metadata }: LockClaim): string[] {
  return [token, wholeMs(leaseMs), metadata]
}

function wholeMs(ms: number): string {
  return String(Math.max(1, Math.floor(ms)))
}

/** What lua/lock/layout.lua writes, where the fence is the moment of the grant, and nobody waits. */
function leaseValue({ token, fence, metadata }: LockGrant): string {
  return `=${token} ${fence} ${metadata}`
}

/** Clients can be set to give integers as strings. */
function isOne(reply: unknown): boolean {
  return Number(reply) === 1
}

function differentSlots(keys: LockKeys): ConfigurationError {
  const names = keys.map((key) => JSON.stringify(key.slice(0, 60))).join(', ')
  return new ConfigurationError(
    'acquire',
    'keys',
    keys,
    `in one hash slot in a Cluster, as ${names} are not; give them one tag in braces, as in {order:1}:stock and {order:1}:bill`,
  )
}
