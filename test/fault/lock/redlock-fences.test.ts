import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { ShiftedClock } from '../../contract/shifted-clock.ts'
import { eventually } from '../../support/eventually.ts'
import type { RedisServer } from '../../support/redis-server.ts'
import { heal, type View } from './masters.ts'
import { claim, mastersUnderTest } from './masters-under-test.ts'

describe.each([3, 5])('fences of %i independent masters', (count) => {
  const at = mastersUnderTest(count)
  const holderAt = async (server: RedisServer) =>
    String(await server.command('GET', `sluice:lock:{${at.key}}`))

  test('L4: a claim sent twice is one grant', async () => {
    const first = await at.view.lock.acquire([at.key], claim('a'))
    if (first.state !== 'granted') throw new Error(first.state)
    for (const server of at.masters.servers)
      await eventually(async () => (await holderAt(server)).includes(` ${first.fence}`))
    expect(await at.view.lock.acquire([at.key], claim('a'))).toEqual(first)
    expect(await at.view.lock.release([at.key], claim('a'))).toBe(true)
    expect(await at.view.lock.release([at.key], claim('a'))).toBe(false)
  })

  test('L12: a slow master whose clock is ahead takes on the fence on which the others agreed', async () => {
    const skewed = await at.masters.join((client, index) => ahead(client, index, new Set()))
    skewed.links.at(-1)?.delayReplies(100)
    const first = await skewed.lock.acquire([at.key], claim('a'))
    if (first.state !== 'granted') throw new Error(first.state)
    const slow = at.masters.servers.at(-1) as RedisServer
    await eventually(async () => (await holderAt(slow)).includes(` ${first.fence}@`))
    await heal(skewed)
    expect(await skewed.lock.acquire([at.key], claim('a'))).toEqual(first)
    expect(await skewed.lock.release([at.key], claim('a'))).toBe(true)
  })

  test('L14: grant several keys with one fence, or none', async () => {
    const both = [`${at.key}a`, `${at.key}b`]
    const single = await at.locker().acquire(both[1] as string)
    expect(await at.locker().tryAcquire(both)).toBeUndefined()
    await single.release()
    const lease = await at.locker().acquire(both)
    expect(lease.fence).toBeGreaterThan(single.fence)
    for (const one of both)
      expect(await at.locker().inspect(one)).toMatchObject({ fence: lease.fence })
    expect(await lease.release()).toBe('released')
  })

  test('L12: split votes settle: each contender has its turn, one at a time, by rising fences', async () => {
    const views = [at.view, await at.masters.join(), await at.masters.join()]
    let held = 0
    const fences: number[] = []
    const work = async (from: View) => {
      for (let round = 0; round < 5; round++) {
        await at.locker(from).using(at.key, { waitMs: 30_000 }, ({ fence }) => {
          expect(++held).toBe(1)
          fences.push(fence)
          held--
        })
      }
    }
    await Promise.all(views.map(work))
    expect(fences).toHaveLength(15)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    await at.nothingLeft()
  })

  test('L12: fences rise over 100 grants whose majorities change, among servers whose clocks differ', async () => {
    const out = new Set<number>()
    const skewed = await at.masters.join((client, index) => ahead(client, index, out))
    let last = 0
    for (let round = 0; round < 100; round++) {
      out.clear()
      for (let lost = 0; lost < at.minority.length; lost++)
        out.add((round * (lost + 1) + lost) % count)
      const reply = await skewed.lock.acquire([at.key], claim(`t${round}`))
      if (reply.state !== 'granted') throw new Error(`round ${round}: ${reply.state}`)
      expect(reply.fence).toBeGreaterThan(last)
      last = reply.fence
      out.clear()
      await skewed.lock.release([at.key], claim(`t${round}`))
      await at.nothingLeft()
    }
  })

  test('L12: fences rise although a master was restarted empty', async () => {
    let last = 0
    for (const server of at.masters.servers) {
      const lease = await at.locker().acquire(at.key, { waitMs: 5000 })
      expect(lease.fence).toBeGreaterThan(last)
      last = lease.fence
      await server.restart()
      await Promise.all(at.view.clients.map((client) => client.ping()))
      expect(await at.locker().tryAcquire(at.key)).toBeUndefined()
      expect(await lease.release()).toBe('released')
    }
    await using lease = await at.locker().acquire(at.key, { waitMs: 5000 })
    expect(lease.fence).toBeGreaterThan(last)
  })
})

/** Over a client that loses its connection at will, to a server whose clock is hours ahead, each by another number. */
function ahead(client: Redis, index: number, out: ReadonlySet<number>) {
  const clock = new ShiftedClock('none', async () => [])
  void clock.advance(index * 3_600_000)
  const shifted = clock.ioredis(client) as { call(...words: string[]): Promise<unknown> }
  const call = (...words: string[]) =>
    out.has(index) ? Promise.reject(new Error('Connection is closed.')) : shifted.call(...words)
  return { ...shifted, call } as ReturnType<ShiftedClock['ioredis']>
}
