import { lockScripts } from '../generated/lua.ts'
import type { RedisPort } from '../redis/client.ts'
import { integer } from './redis-replies.ts'
import type { LockGrant } from './store.ts'

/**
 * How many replicas have a lease, as `WAIT` tells. It counts those that have all writes of its connection: so the lease
 * is written once more just before it, which also shows that this is a server that knows it, and the connection must be
 * the same before and after. On a new one, after a failover say, `WAIT` answers at once, and for other writes.
 */
export async function replicas(
  redis: RedisPort,
  holderKeys: readonly [string, ...string[]],
  { token, leaseMs }: Pick<LockGrant, 'token' | 'leaseMs'>,
  min: number,
  waitMs: number,
): Promise<number> {
  const [first] = holderKeys
  const args = [token, String(Math.max(1, Math.ceil(leaseMs)))]
  const extend = [
    'EVAL',
    lockScripts.extend.source,
    String(holderKeys.length),
    ...holderKeys,
    ...args,
  ]
  const [before, held, count, after] = await Promise.all([
    redis.send(first, ['CLIENT', 'ID']),
    redis.send(first, extend as [string, ...string[]]),
    redis.send(first, ['WAIT', String(min), String(Math.floor(waitMs))]),
    redis.send(first, ['CLIENT', 'ID']),
  ])
  if (before !== after)
    throw new Error('the connection changed, so nobody knows what the replicas have')
  return integer(held) === 1 ? integer(count) : 0
}
