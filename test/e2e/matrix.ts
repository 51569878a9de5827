import { memoryStore, redisStore, type Store } from '@sluice/express'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { type Framework, frameworks } from './frameworks.ts'

/** Where quotas are kept: each call of `open` gives a store that is empty. */
export interface Backend {
  readonly name: string
  open(): OpenStore
}

export interface OpenStore extends AsyncDisposable {
  readonly store: Store
}

const backends: readonly Backend[] = [
  { name: 'memory', open: () => opened(memoryStore(), () => {}) },
  {
    name: 'Redis',
    open: () => {
      const redis = new Redis(inject('redisPort'))
      const prefix = `e2e:${process.pid}:${Date.now()}:${++opens}`
      return opened(redisStore(redis, { prefix }), () => redis.disconnect())
    },
  },
]

/** Every framework on every store, as `describe.each` takes it. */
export const matrix: readonly (readonly [string, Framework, Backend])[] = frameworks.flatMap(
  (framework) =>
    backends.map(
      (backend) => [`${framework.name} on ${backend.name}`, framework, backend] as const,
    ),
)

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
