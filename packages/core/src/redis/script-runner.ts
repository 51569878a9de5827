import type { Script } from '../generated/lua.ts'
import type { RedisPort } from './client.ts'

/**
 * Runs a script by its digest; only a server that does not know it gets the source, so a flushed script
 * cache costs one more round trip and nothing is remembered that could be wrong. `NOSCRIPT` says that
 * nothing ran, so this is no repetition of an uncertain call.
 */
export async function runScript(
  redis: RedisPort,
  script: Script,
  keys: readonly [string, ...string[]],
  args: readonly string[],
): Promise<unknown> {
  const count = String(keys.length)
  try {
    return await redis.send(keys[0], ['EVALSHA', script.sha1, count, ...keys, ...args])
  } catch (error) {
    if (!isReplyError(error, 'NOSCRIPT')) throw error
    return redis.send(keys[0], ['EVAL', script.source, count, ...keys, ...args])
  }
}

/** As {@link runScript}, with arguments that may be Buffers and every text of the reply as one. */
export async function runScriptOnBytes(
  redis: RedisPort,
  script: Script,
  keys: readonly [string, ...string[]],
  args: readonly (string | Buffer)[],
): Promise<unknown> {
  const count = String(keys.length)
  try {
    return await redis.sendBytes(keys[0], ['EVALSHA', script.sha1, count, ...keys, ...args])
  } catch (error) {
    if (!isReplyError(error, 'NOSCRIPT')) throw error
    return redis.sendBytes(keys[0], ['EVAL', script.source, count, ...keys, ...args])
  }
}

/** Whether a server refused a command with this code, which by its nature came before any effect. */
export function isReplyError(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code)
}
