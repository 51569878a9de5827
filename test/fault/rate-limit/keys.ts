import type { RedisServer } from '../../support/redis-server.ts'

/** The keys that would stay for ever. */
export async function withoutTtl(server: RedisServer): Promise<readonly string[]> {
  const script = `
    local found = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
      if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
    end
    return found`
  return (await server.command('EVAL', script, 0)) as string[]
}

/** Every key and its value, to see whether anything changed. */
export async function contents(server: RedisServer): Promise<unknown> {
  const script = `
    local found = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
      found[#found + 1] = key
      found[#found + 1] = redis.call('DUMP', key)
    end
    return found`
  return server.command('EVAL', script, 0)
}
