import { memoryStore, redisStore, type Store } from '@sluice/express'
import { Redis } from 'ioredis'
import { inject } from 'vitest'

/** Where records are kept: each call of `open` gives a store that is empty. */
export interface Backend {
  readonly name: string
  open(): OpenStore
}

export interface OpenStore extends AsyncDisposable {
  readonly store: Store
}

export const backends: readonly Backend[] = [
  { name: 'memory', open: () => opened(memoryStore(), () => {}) },
  {
    name: 'Redis',
    open: () => {
      const redis = new Redis(inject('redisPort'))
      const prefix = `idempotency:${process.pid}:${Date.now()}:${++opens}`
      return opened(redisStore(redis, { prefix }), () => redis.disconnect())
    },
  },
]

let opens = 0

function opened(store: Store, disconnect: () => void): OpenStore {
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close()
      disconnect()
    },
  }
}
