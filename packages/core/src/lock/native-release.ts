import { randomUUID } from 'node:crypto'
import type { RedisPort } from '../redis/client.ts'
import { isReplyError } from '../redis/script-runner.ts'

/**
 * Releases by one command, on servers that delete a key where it has a value: `DELEX … IFEQ` (Redis 8.4), `DELIFEQ`
 * (Valkey 9.0). Found out by asking on a scratch key once a connection, never by a version; anything unexpected means
 * the script. In a Cluster scripts serve: clients cannot route a command that they do not know.
 */
export class NativeRelease {
  readonly #redis: RedisPort
  readonly #scratchPrefix: string
  #command: Command | 'unknown' | 'asking' | 'none'
  /** Some proxies close the connection on a command they do not know. */
  #unanswered = 0
  readonly #stopListening: () => void

  constructor(redis: RedisPort, scratchPrefix: string) {
    this.#redis = redis
    this.#scratchPrefix = scratchPrefix
    this.#command = redis.cluster ? 'none' : 'unknown'
    // Another connection may lead to another server.
    this.#stopListening = redis.onConnected(() => {
      if (!redis.cluster && this.#unanswered < MAX_UNANSWERED) this.#command = 'unknown'
    })
  }

  close(): void {
    this.#stopListening()
  }

  /** Whether the key had this value, and is gone; undefined: nothing happened, or nobody knows. Then ask the script. */
  async release(key: string, value: string): Promise<boolean | undefined> {
    if (this.#command === 'unknown') void this.#ask()
    if (typeof this.#command === 'string') return undefined
    try {
      const reply = await this.#redis.send(key, this.#command(key, value))
      if (reply === 0 || reply === 1) return reply === 1
    } catch (error) {
      if (!isReplyError(error, 'ERR') && !isReplyError(error, 'NOPERM')) throw error
    }
    this.#command = 'none'
    return undefined
  }

  async #ask(): Promise<void> {
    this.#command = 'asking'
    let found: Command | 'none' | 'unknown' = 'none'
    try {
      for (const command of commands) {
        if (!(await this.#works(command))) continue
        found = command
        break
      }
    } catch {
      // Says nothing of the command, but is not asked for ever.
      if (++this.#unanswered < MAX_UNANSWERED) found = 'unknown'
    }
    // A connection that was made meanwhile is a question of its own.
    if (this.#command === 'asking') this.#command = found
  }

  /** Leaves another value alone, and deletes the key for its own: all as documented, or it is not the command we know. */
  async #works(command: Command): Promise<boolean> {
    const key = this.#scratchPrefix + randomUUID()
    try {
      await this.#redis.send(key, ['SET', key, 'a b', 'PX', PROBE_TTL_MS])
      const other = await this.#redis.send(key, command(key, 'a'))
      const left = await this.#redis.send(key, ['GET', key])
      const own = await this.#redis.send(key, command(key, 'a b'))
      const gone = await this.#redis.send(key, ['GET', key])
      return other === 0 && left === 'a b' && own === 1 && gone === null
    } catch (error) {
      if (isReplyError(error, 'ERR') || isReplyError(error, 'NOPERM')) return false
      throw error
    }
  }
}

type Command = (key: string, value: string) => readonly [string, ...string[]]

const commands: readonly Command[] = [
  (key, value) => ['DELEX', key, 'IFEQ', value],
  (key, value) => ['DELIFEQ', key, value],
]

const PROBE_TTL_MS = '10000'
const MAX_UNANSWERED = 3
