import type { RedisClient } from '@sluice/core'
import type { Cluster, Redis } from 'ioredis'
import {
  delayScripts,
  idempotencyScripts,
  lockScripts,
} from '../../packages/core/src/generated/lua.ts'

type Word = string | Buffer

/** Runs one command on the server that holds the keys under test, or on each of them. */
export type Everywhere = (...words: string[]) => Promise<unknown[]>

/**
 * A client for `redisStore` whose server seems to be in the future, so that hours pass in no time: scripts are sent with
 * a prologue that adds to `TIME`, and an advance takes what has passed from the TTL of every key under a prefix that has one. Real
 * time goes on below it, so a test counts in steps that make its own milliseconds not matter.
 */
export class ShiftedClock {
  readonly #prefix: string
  readonly #everywhere: Everywhere
  #offsetMs = 0

  constructor(prefix: string, everywhere: Everywhere) {
    this.#prefix = prefix
    this.#everywhere = everywhere
  }

  async advance(ms: number): Promise<void> {
    this.#offsetMs += ms
    await this.#everywhere('EVAL', AGE, '0', `${this.#prefix}:*`, String(ms))
  }

  /** What ioredis offers, as far as the store uses it. */
  ioredis(client: Redis | Cluster): RedisClient {
    return {
      isCluster: client.isCluster,
      pipeline: () => client.pipeline(),
      on: () => {},
      off: () => {},
      call: (command: string, ...args: string[]) => {
        const [name, ...rest] = this.#shift([command, ...args])
        return client.call(String(name), ...rest)
      },
      callBuffer: (command: string, ...args: Word[]) => {
        const [name, ...rest] = this.#shift([command, ...args])
        return client.callBuffer(String(name), ...rest)
      },
      duplicate: (...args: never[]) => Reflect.apply(client.duplicate, client, args),
    } as RedisClient
  }

  /** What a single node-redis client offers, as far as the store uses it. */
  nodeRedis(client: NodeRedis): RedisClient {
    return {
      on: () => {},
      off: () => {},
      sendCommand: (command: Word[], options?: object) =>
        client.sendCommand(this.#shift(command), options),
      duplicate: () => client.duplicate(),
    }
  }

  /** What a node-redis Cluster offers, as far as the store uses it. */
  nodeRedisCluster(cluster: NodeRedisCluster): RedisClient {
    return {
      getSlotRandomNode: () => {},
      on: () => {},
      off: () => {},
      sendCommand: (key: string, isReadonly: boolean, command: Word[], options?: object) =>
        cluster.sendCommand(key, isReadonly, this.#shift(command), options),
      duplicate: () => cluster.duplicate(),
    } as RedisClient
  }

  #shift(command: readonly Word[]): Word[] {
    const [name, sha1, ...rest] = command
    const source = name === 'EVALSHA' ? sources.get(String(sha1)) : undefined
    if (source === undefined) return [...command]
    return ['EVAL', PROLOGUE + source, ...rest, String(this.#offsetMs)]
  }
}

interface NodeRedis {
  sendCommand(command: Word[], options?: object): Promise<unknown>
  duplicate(): unknown
}

interface NodeRedisCluster {
  sendCommand(key: string, isReadonly: boolean, command: Word[], options?: object): Promise<unknown>
  duplicate(): unknown
}

const sources = new Map(
  [idempotencyScripts, lockScripts, delayScripts]
    .flatMap(Object.values)
    .map(({ sha1, source }) => [sha1, source]),
)

const PROLOGUE = `
local server, offsetMs = redis, tonumber(table.remove(ARGV))
local redis = {
  call = function(name, ...)
    local reply = server.call(name, ...)
    if name ~= 'TIME' then return reply end
    local us = reply[1] * 1000000 + reply[2] + offsetMs * 1000
    return { string.format('%.0f', math.floor(us / 1000000)), string.format('%.0f', us % 1000000) }
  end,
  pcall = server.pcall,
}
`

const AGE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local leftMs = redis.call('PTTL', key)
  if leftMs >= 0 then redis.call('PEXPIRE', key, leftMs - ARGV[2]) end
end
`
