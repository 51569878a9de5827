import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { rateLimitScripts } from '../../packages/core/src/generated/lua.ts'

/**
 * A client for `redisStore` whose scripts see the time that the test sets, so that the real Lua code runs on a
 * real server through hours in milliseconds. Each script is sent with a prologue that shadows `redis`: `TIME` is
 * the test's clock, and a TTL ends by that clock too (a server's own keys live on through the millisecond in which
 * they expire; these do not). The server still checks every command and every TTL argument.
 */
export class ClockedRedis {
  readonly #redis: Redis
  /** The folder of the test's own bookkeeping on the server. */
  readonly #books: string
  /** The server's clock in milliseconds. */
  readonly #now: () => number

  constructor(redis: Redis, books: string, now: () => number) {
    this.#redis = redis
    this.#books = books
    this.#now = now
  }

  /** What `redisStore` takes as the sign of an ioredis client. */
  pipeline(): never {
    throw new Error('the store sends single commands')
  }

  /** Connected for as long as the test's client is. */
  on(): void {}

  off(): void {}

  async call(command: string, ...args: string[]): Promise<unknown> {
    if (command === 'EVALSHA') return this.#run(variantOf(args[0] ?? ''), args.slice(1))
    if (command === 'DEL') return this.#run(DELETE, args.length, ...args)
    // The native path would count on the server's own clock: scripts serve.
    throw new Error(`ERR unknown command '${command}'`)
  }

  /** The keys, of all that the scripts touched, that have no TTL. */
  async keysWithoutTtl(): Promise<string[]> {
    return (await this.#redis.smembers(`${this.#books}:eternal`)).sort()
  }

  /** Takes the TTL of every key, as PERSIST does. */
  async persistAll(): Promise<void> {
    const keys = await this.#redis.hkeys(`${this.#books}:ends`)
    if (keys.length > 0) await this.#redis.sadd(`${this.#books}:eternal`, ...keys)
    await this.#redis.del(`${this.#books}:ends`)
  }

  /** Leaves nothing behind. */
  async clear(): Promise<void> {
    const keys = await this.#redis.hkeys(`${this.#books}:ends`)
    const books = ['ends', 'eternal', 'scratch', 'commands'].map((name) => `${this.#books}:${name}`)
    await this.#redis.del(...keys, ...(await this.keysWithoutTtl()), ...books)
  }

  /** How many commands the scripts ran since the last look. */
  async commands(): Promise<number> {
    return Number(await this.#redis.getset(`${this.#books}:commands`, 0))
  }

  async #run(variant: Variant, ...args: readonly unknown[]): Promise<unknown> {
    const rest = [...args.flat(), this.#books, this.#now()].map(String)
    try {
      return await this.#redis.call('EVALSHA', variant.sha1, ...rest)
    } catch (error) {
      if (!String(error).includes('NOSCRIPT')) throw error
      return this.#redis.call('EVAL', variant.source, ...rest)
    }
  }
}

interface Variant {
  readonly source: string
  readonly sha1: string
}

const PROLOGUE = `
local server, books, clock = redis, ARGV[#ARGV - 1], tonumber(ARGV[#ARGV])
local ends, eternal = books .. ':ends', books .. ':eternal'
local scratch, commands = books .. ':scratch', books .. ':commands'
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
local function endOf(key)
  return tonumber(server.call('HGET', ends, key))
end
local function setEnd(key, ms)
  server.call('SET', scratch, '', 'PX', ms)
  server.call('HSET', ends, key, string.format('%.0f', clock + ms))
end
local simulated = {
  TIME = function()
    return { string.format('%.0f', math.floor(clock / 1000)), string.format('%.0f', clock % 1000 * 1000) }
  end,
  PTTL = function(key)
    if server.call('EXISTS', key) == 0 then return -2 end
    local at = endOf(key)
    return at and at - clock or -1
  end,
  PEXPIRE = function(key, ms)
    if server.call('EXISTS', key) == 0 then return 0 end
    if tonumber(ms) <= 0 then server.call('DEL', key) else setEnd(key, ms) end
    return 1
  end,
  SET = function(key, value, px, ms, ...)
    assert(select('#', ...) == 0 and (px == nil or px == 'PX'), 'SET is simulated with PX alone')
    server.call('HDEL', ends, key)
    if px then setEnd(key, ms) end
    return server.call('SET', key, value)
  end,
}
local function dispatch(call, name, key, ...)
  server.call('INCR', commands)
  if name == 'TIME' then return simulated.TIME() end
  local at = endOf(key)
  if at and at <= clock then
    server.call('DEL', key)
    server.call('HDEL', ends, key)
  end
  local reply
  if simulated[name] then reply = simulated[name](key, ...) else reply = call(name, key, ...) end
  local exists = server.call('EXISTS', key) == 1
  if not exists then server.call('HDEL', ends, key) end
  server.call(exists and not endOf(key) and 'SADD' or 'SREM', eternal, key)
  return reply
end
local redis = {
  call = function(...) return dispatch(server.call, ...) end,
  pcall = function(...) return dispatch(server.pcall, ...) end,
}
`

const DELETE = variant("for _, key in ipairs(KEYS) do redis.call('DEL', key) end")
const variants = new Map(
  Object.values(rateLimitScripts).map(({ sha1, source }) => [sha1, variant(source)]),
)

function variantOf(sha1: string): Variant {
  const found = variants.get(sha1)
  if (!found) throw new Error(`no script of the store has the digest ${sha1}`)
  return found
}

function variant(script: string): Variant {
  const source = `${PROLOGUE}${script}`
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}
