import { randomUUID } from 'node:crypto'
import { createLocker, type Locker, type LockerOptions, redisStore, type Store } from '@sluice/core'
import { Redis } from 'ioredis'
import { inject } from 'vitest'

/** What another process would have: a client, a store and a locker of its own, on the server of the run. */
export class LockProcess implements AsyncDisposable {
  readonly redis: Redis
  readonly store: Store
  /** How many commands it has sent. */
  sent = 0

  constructor(prefix: string) {
    const connectionName = randomUUID()
    this.redis = new Redis(inject('redisPort'), '127.0.0.1', { connectionName })
    const call = this.redis.call.bind(this.redis) as (...command: unknown[]) => Promise<unknown>
    this.redis.call = (...command: unknown[]) => {
      this.sent++
      return call(...command)
    }
    this.store = redisStore(this.redis, { prefix })
  }

  locker(options: Omit<LockerOptions, 'store'> = {}): Locker {
    return createLocker({ ...options, store: this.store })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close()
    this.redis.disconnect()
  }
}
