import type { IoredisLike } from '@sluice/core'
import type { Redis } from 'ioredis'

/**
 * A client of a server that has `INCREX` as Redis 8.8 documents it, for servers here that do not: the command
 * becomes a script of the same effect on the real server, and all others pass. `shape` changes what it
 * replies, as servers do that give the name another meaning.
 */
export class WithIncrex implements IoredisLike {
  readonly #redis: Redis
  /** From `[new, applied]` to what the server says. */
  shape: (reply: readonly number[]) => unknown = (reply) => reply
  /** How often `INCREX` decided about a subject. */
  decided = 0

  constructor(redis: Redis) {
    this.#redis = redis
  }

  on(event: 'ready', listener: () => void): void {
    this.#redis.on(event, listener)
  }

  off(event: 'ready', listener: () => void): void {
    this.#redis.off(event, listener)
  }

  /** What `redisStore` takes as the sign of an ioredis client. */
  pipeline(): never {
    throw new Error('the store sends single commands')
  }

  async call(command: string, ...args: string[]): Promise<unknown> {
    if (command !== 'INCREX') return this.#redis.call(command, ...args)
    const [key = '', byint, by = '', ubound, bound = '', px, ms = '', enx, ...more] = args
    if ([byint, ubound, px, enx, ...more].join(' ') !== 'BYINT UBOUND PX ENX')
      throw new Error(`ERR syntax error: ${args.join(' ')}`)
    if (!key.includes(':probe:')) this.decided++
    return this.shape((await this.#redis.eval(INCREX, 1, key, by, bound, ms)) as number[])
  }
}

const INCREX = `
local current = redis.call('GET', KEYS[1]) or '0'
if not tonumber(current) then return redis.error_reply('ERR value is not an integer or out of range') end
local by, bound = tonumber(ARGV[1]), tonumber(ARGV[2])
if current + by > bound then return { tonumber(current), 0 } end
redis.call('INCRBY', KEYS[1], by)
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return { current + by, by }
`
