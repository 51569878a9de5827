import { RedisDelayStore } from './delay/redis-store.ts'
import { ConfigurationError } from './errors.ts'
import { RedisIdempotencyStore } from './idempotency/redis-store.ts'
import { RedisLockStore } from './lock/redis-store.ts'
import { RedlockNode } from './lock/redlock-node.ts'
import { RedlockStore } from './lock/redlock-store.ts'
import { checkOptions } from './options.ts'
import { RedisRateLimitStore } from './rate-limit/redis-store.ts'
import { type RedisClient, redisPort } from './redis/client.ts'
import { Messages } from './redis/messages.ts'
import { probe } from './redis/probe.ts'
import { CircuitBreaker } from './resilience/circuit-breaker.ts'
import type { Store } from './store.ts'

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** Begins every key: 1 to 100 characters, no braces, colons at its ends or globs; default `'sluice'`. */
  readonly prefix?: string | undefined
}

/**
 * A store on one Redis or Valkey, a Sentinel group or a Cluster, through the client you already have. Clients of three
 * or more independent masters make a store for locks alone, by the Redlock algorithm.
 *
 * The client stays yours: connect it, listen to its `error` events, close it. Its default settings are fine.
 *
 * @throws ConfigurationError (`configuration`) for a client of another kind, a wrong prefix, or fewer than three masters.
 * @example
 * ```ts
 * import { createRateLimiter, fixedWindow, redisStore } from '@sluice/core'
 * import { Redis } from 'ioredis'
 *
 * const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
 * const limiter = createRateLimiter({
 *   store: redisStore(redis),
 *   policy: fixedWindow({ limit: 100, windowMs: 60_000 }),
 * })
 * ```
 */
export function redisStore(
  client: RedisClient | readonly RedisClient[],
  options: RedisStoreOptions = {},
): Store {
  const { prefix = 'sluice' } = checkOptions('redisStore', options, {
    prefix: {
      expected: 'a string of 1 to 100 of the characters A-Z a-z 0-9 . _ / - and inner colons',
      accepts: (value) => typeof value === 'string' && /^(?!:)[\w./:-]{1,100}(?<!:)$/.test(value),
    },
  })
  if (Array.isArray(client)) return severalMasters(client, prefix)
  const redis = redisPort(client)
  // Each goes to another slot: in a cluster, one lost master must not stand for all.
  let probes = 0
  const circuit = new CircuitBreaker(() => probe(redis, `${prefix}:probe:${probes++ % PROBE_KEYS}`))
  const messages = new Messages(redis)
  const rateLimit = new RedisRateLimitStore(redis, prefix)
  const idempotency = new RedisIdempotencyStore(redis, messages, prefix)
  const lock = new RedisLockStore(redis, messages, prefix)
  return {
    rateLimit,
    idempotency,
    lock,
    delay: new RedisDelayStore(redis, messages, prefix),
    circuit,
    close: async () => {
      rateLimit.close()
      lock.close()
      messages.close()
      circuit.close()
    },
  }
}

const PROBE_KEYS = 16

/** Independent masters agree on locks by majority; a quota or a record on several of them would be several. */
function severalMasters(clients: readonly RedisClient[], prefix: string): Store {
  if (new Set(clients).size < FEWEST_MASTERS || new Set(clients).size < clients.length)
    throw new ConfigurationError(
      'redisStore',
      'client',
      clients,
      'one client, or at least three different ones of independent masters',
    )
  const nodes = clients.map((client) => {
    const redis = redisPort(client)
    // Nobody listens: where no line is kept, callers ask again.
    return new RedlockNode(redis, new RedisLockStore(redis, new Messages(redis), prefix), prefix)
  })
  return {
    get rateLimit(): never {
      throw needsOneMaster('rateLimit')
    },
    get idempotency(): never {
      throw needsOneMaster('idempotency')
    },
    get delay(): never {
      throw needsOneMaster('delay')
    },
    lock: new RedlockStore(nodes),
    close: async () => {
      for (const node of nodes) node.close()
    },
  }
}

/** Of two masters neither may fail: they are worse than one. */
const FEWEST_MASTERS = 3

function needsOneMaster(owner: string): ConfigurationError {
  return new ConfigurationError(
    owner,
    'store',
    'a store on several Redis masters',
    'a store on one client: redisStore(client), where the client may be a Cluster',
  )
}
