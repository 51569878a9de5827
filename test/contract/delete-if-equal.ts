import type { IoredisLike } from '@sluice/core'
import type { Redis } from 'ioredis'

/**
 * A client of a server that deletes a key where it has a value, as Redis 8.4 (`DELEX … IFEQ`) or Valkey 9.0
 * (`DELIFEQ`) document it, for servers here that do not: the command becomes a script of the same effect on the real
 * server, and all others pass.
 */
export class WithDeleteIfEqual implements IoredisLike {
  readonly #redis: Redis
  readonly #name: 'DELEX' | 'DELIFEQ'
  /** From 1 or 0 to what the server says. */
  shape: (reply: number) => unknown = (reply) => reply
  /** How often the command was sent for a lock. */
  used = 0
  /** How often a script ran. */
  scripts = 0

  constructor(redis: Redis, name: 'DELEX' | 'DELIFEQ') {
    this.#redis = redis
    this.#name = name
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
    if (command.startsWith('EVAL')) this.scripts++
    if (!command.startsWith('DEL')) return this.#redis.call(command, ...args)
    if (command !== this.#name)
      throw new Error(`ERR unknown command '${command}', with args beginning with: `)
    const [key = '', ...rest] = args
    if (command === 'DELEX' && rest.shift() !== 'IFEQ') throw new Error('ERR syntax error')
    const [value = '', ...more] = rest
    if (more.length > 0) throw new Error('ERR wrong number of arguments')
    if (!key.includes(':probe:')) this.used++
    return this.shape((await this.#redis.eval(DELETE_IF_EQUAL, 1, key, value)) as number)
  }
}

const DELETE_IF_EQUAL = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`
