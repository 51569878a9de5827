import type { LockStore } from '@sluice/core'
import { inject } from 'vitest'
import type { LockPlace } from './lock-store/locks-under-test.ts'
import { lockStoreContract, memoryLocks } from './lock-store.ts'
import {
  clusterPlace,
  ioredisPlace,
  mastersPlace,
  nodeRedisClusterPlace,
  nodeRedisPlace,
  type RedisPlace,
} from './redis-places.ts'

lockStoreContract('L18: memory', memoryLocks)
lockStoreContract('Redis over ioredis', () => on(ioredisPlace(inject('redisPort'))))
lockStoreContract('Redis over node-redis', () => on(nodeRedisPlace(inject('redisPort'))))
lockStoreContract('Redis Cluster over ioredis', () => on(clusterPlace(), { slots: true }))
lockStoreContract('Redis Cluster over node-redis', () =>
  on(nodeRedisClusterPlace(), { slots: true }),
)
lockStoreContract('L12: three independent masters', () => on(mastersPlace()), { lines: false })

async function on(
  opening: Promise<RedisPlace>,
  traits: { readonly slots?: boolean } = {},
): Promise<LockPlace> {
  const place = await opening
  return { ...place, ...traits, store: watched(place.store.lock as LockStore, place) }
}

/** Looks after every call whether a key was left that would stay for ever. */
function watched(store: LockStore, { prefix, everywhere }: RedisPlace): LockStore {
  return new Proxy(store, {
    get(_, name) {
      const value: unknown = Reflect.get(store, name)
      if (typeof value !== 'function') return value
      const method = value.bind(store)
      if (!CHANGES.has(String(name))) return method
      return async (...args: unknown[]) => {
        const reply: unknown = await method(...args)
        const eternal = (await everywhere('EVAL', ETERNAL, '0', `${prefix}:*`)).flat()
        if (eternal.length > 0) throw new Error(`no TTL after ${String(name)}: ${eternal}`)
        return reply
      }
    },
  })
}

const CHANGES = new Set(['acquire', 'release', 'pass', 'extend', 'leave', 'inspect'])

const ETERNAL = `
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found
`
