import { describe, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'
import { fields } from '../../support/command.ts'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { withoutTtl } from './keys.ts'

const CALLERS = new URL('children/callers.ts', import.meta.url)

describe('a crash in the middle of everything', () => {
  test('R6: of Redis, which comes back with its data, leaves no key without a TTL', async () => {
    await using server = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always'])
    await using _callers = await Child.start(CALLERS, { args: [String(server.port)] })
    for (let crash = 0; crash < 5; crash++) {
      await isInUse(server)
      await server.restart()
      expect(await server.command('DBSIZE')).toBeGreaterThan(0)
      expect(await withoutTtl(server)).toEqual([])
    }
  })

  test('R6: of the application leaves no key without a TTL', async () => {
    await using server = await RedisServer.start()
    for (let crash = 0; crash < 3; crash++) {
      await using callers = await Child.start(CALLERS, { args: [String(server.port)] })
      await isInUse(server)
      await callers.kill()
      expect(await withoutTtl(server)).toEqual([])
    }
  })

  test('R6: of Redis as its memory runs out leaves no key without a TTL', async () => {
    await using server = await RedisServer.start()
    await using _callers = await Child.start(CALLERS, { args: [String(server.port)] })
    for (let times = 0; times < 20; times++) {
      await server.command('CONFIG', 'SET', 'maxmemory', times % 2 ? 0 : 1)
      expect(await withoutTtl(server)).toEqual([])
    }
  })
})

/** The callers have found the server, and are in the middle of it. */
async function isInUse(server: RedisServer): Promise<void> {
  const scripts = async () =>
    fields(await server.command('INFO', 'commandstats'))['cmdstat_evalsha']
  const calls = async () => Number(/calls=(\d+)/.exec((await scripts()) ?? '')?.[1] ?? 0)
  const before = await calls()
  await eventually(async () => (await calls()) > before + 500, { withinMs: 20_000 })
}
