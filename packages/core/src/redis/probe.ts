import type { RedisPort } from './client.ts'

/**
 * Asks a server whether it can do what the store needs: run a script that writes. One that only answers, or takes plain
 * writes alone, would close a circuit that the next call opens again.
 */
export function probe(redis: RedisPort, key: string): Promise<unknown> {
  return redis.send(key, ['EVAL', "return redis.call('SET', KEYS[1], '1', 'PX', 1000)", '1', key])
}
