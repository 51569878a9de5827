import { createLocker, LeaseLostError, type LockClaim, LockTimeoutError } from '@sluice/core'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ShiftedClock } from '../../contract/shifted-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { heal, Masters, partition, type View } from './masters.ts'

describe.each([3, 5])('%i independent masters', (count) => {
  const minority = Array.from({ length: Math.floor(count / 2) }, (_, index) => index)
  const majority = Array.from({ length: Math.floor(count / 2) + 1 }, (_, index) => index)
  let masters: Masters
  let view: View
  let keys = 0
  let key: string

  beforeAll(async () => {
    masters = await Masters.start(count)
  })
  afterAll(() => masters[Symbol.asyncDispose]())
  beforeEach(async () => {
    key = `k${++keys}`
    view = await masters.join()
  })

  const claim = (token: string, leaseMs = 10_000): LockClaim => ({
    token,
    leaseMs,
    metadata: '"m"',
  })
  const locker = (from: View = view, leaseMs = 10_000) =>
    createLocker({ store: from.store, leaseMs, timeoutMs: 2000 })
  const nothingLeft = () => eventually(async () => (await masters.holders(key)) === 0)

  test('L12: grant, refuse, tell of the holder, and free together', async () => {
    const other = await masters.join()
    const lease = await locker().acquire(key, { metadata: { by: 'a' } })
    expect(await locker(other).tryAcquire(key)).toBeUndefined()
    await expect(locker(other).acquire(key)).rejects.toBeInstanceOf(LockTimeoutError)
    const state = await locker(other).inspect(key)
    expect(state).toMatchObject({ fence: lease.fence, metadata: { by: 'a' }, waiters: 0 })
    expect(state?.remainingMs).toBeGreaterThan(5000)
    await lease.extend()
    expect(await lease.release()).toBe('released')
    expect(await locker(other).inspect(key)).toBeUndefined()
    await nothingLeft()
    await using next = await locker(other).acquire(key)
    expect(next.fence).toBeGreaterThan(lease.fence)
  })

  test('L4: a claim sent twice is one grant', async () => {
    const first = await view.lock.acquire([key], claim('a'))
    expect(first.state).toBe('granted')
    await eventually(async () => (await masters.holders(key)) === count)
    expect(await view.lock.acquire([key], claim('a'))).toEqual(first)
    expect(await view.lock.release([key], claim('a'))).toBe(true)
    expect(await view.lock.release([key], claim('a'))).toBe(false)
  })

  test('L12: a slow master whose clock is ahead takes on the fence on which the others agreed', async () => {
    const skewed = await masters.join((client, index) => ahead(client, index, new Set()))
    skewed.links.at(-1)?.delayReplies(100)
    const first = await skewed.lock.acquire([key], claim('a'))
    if (first.state !== 'granted') throw new Error(first.state)
    await eventually(async () =>
      String(await masters.servers.at(-1)?.command('GET', `sluice:lock:{${key}}`)).includes(
        ` ${first.fence}@`,
      ),
    )
    await heal(skewed)
    expect(await skewed.lock.acquire([key], claim('a'))).toEqual(first)
    expect(await skewed.lock.release([key], claim('a'))).toBe(true)
  })

  test('L14: grant several keys with one fence, or none', async () => {
    const both = [`${key}a`, `${key}b`]
    const single = await locker().acquire(both[1] as string)
    expect(await locker().tryAcquire(both)).toBeUndefined()
    await single.release()
    const lease = await locker().acquire(both)
    expect(lease.fence).toBeGreaterThan(single.fence)
    for (const one of both)
      expect(await locker().inspect(one)).toMatchObject({ fence: lease.fence })
    expect(await lease.release()).toBe('released')
  })

  test('L12: a minority that is gone, or hangs, delays nobody and is not missed', async () => {
    for (const lose of [
      () => partition(view, ...minority),
      () => {
        for (const index of minority) view.links[index]?.stall()
      },
    ]) {
      lose()
      let fence = 0
      for (let round = 0; round < 8; round++) {
        const lease = await locker().acquire(key, { waitMs: 10_000 })
        expect(lease.fence).toBeGreaterThan(fence)
        fence = lease.fence
        expect(await locker().tryAcquire(key)).toBeUndefined()
        expect(await locker().inspect(key)).toMatchObject({ fence })
        await lease.extend()
        expect(await lease.release()).toBe('released')
      }
      await heal(view)
    }
    await nothingLeft()
  })

  test('L12: without a majority nobody is granted or refused anything, and nothing is left', async () => {
    const other = await masters.join()
    partition(view, ...majority)
    const unavailable = { code: 'store-unavailable' }
    await expect(locker().acquire(key)).rejects.toMatchObject(unavailable)
    await expect(locker().acquire(key, { waitMs: 300 })).rejects.toMatchObject(unavailable)
    await expect(locker().inspect(key)).rejects.toMatchObject(unavailable)
    await nothingLeft()
    await using lease = await locker(other).acquire(key)
    expect(lease.fence).toBeGreaterThan(0)
    await heal(view)
    await eventually(async () => (await locker().tryAcquire(key)) === undefined)
  })

  test('L3: what is granted after the others have failed is given back', async () => {
    for (const index of majority) view.links[index]?.stall()
    await expect(locker().acquire(key)).rejects.toMatchObject({ code: 'store-unavailable' })
    for (const index of majority) view.links[index]?.resume()
    await nothingLeft()
  })

  test('L3: what a slow master grants after a release is given back', async () => {
    view.links[0]?.stall()
    view.links[0]?.cut() // what is sent from now on waits in the client
    view.links[0]?.refuse()
    const lease = await locker().acquire(key)
    await lease.release()
    await heal(view)
    await nothingLeft()
  })

  test('L12: no grant counts that took longer than its lease', async () => {
    for (const index of majority) view.links[index]?.delayReplies(100)
    await expect(view.lock.acquire([key], claim('a', 150))).rejects.toThrow('longer')
    await heal(view)
    await nothingLeft()
  })

  test('L12: a lease that its holder cannot extend on a majority ends before it is granted again', async () => {
    const other = await masters.join()
    const lease = await locker(view, 2000).acquire(key)
    partition(view, ...majority)
    await expect(lease.extend()).rejects.toMatchObject({ code: 'store-unavailable' })
    const waiting = locker(other).acquire(key, { waitMs: 10_000 })
    await using next = await waiting
    expect(lease.remainingMs()).toBeLessThanOrEqual(0)
    expect(next.fence).toBeGreaterThan(lease.fence)
    await heal(view)
    expect(await view.lock.extend([key], { ...claim(lease.token), fence: 0 }, 2000)).toBe(false)
  })

  test('L12: masters that forgot a lease are a majority at last: it is lost', async () => {
    const lease = await locker().acquire(key)
    for (const index of minority)
      await masters.servers[index]?.command('DEL', `sluice:lock:{${key}}`)
    await lease.extend()
    for (const index of majority)
      await masters.servers[index]?.command('DEL', `sluice:lock:{${key}}`)
    await expect(lease.extend()).rejects.toBeInstanceOf(LeaseLostError)
    expect(await lease.release()).toBe('already-lost')
  })

  test('L12: a release that reached its masters one after the other was one release', async () => {
    const grant = { ...claim('a'), fence: 0 }
    expect((await view.lock.acquire([key], grant)).state).toBe('granted')
    partition(view, ...majority)
    await expect(view.lock.release([key], grant)).rejects.toThrow('no majority')
    await heal(view)
    expect(await view.lock.release([key], grant)).toBe(true)
    await nothingLeft()
  })

  test('L12: split votes settle: each contender has its turn, one at a time, by rising fences', async () => {
    const views = [view, await masters.join(), await masters.join()]
    let held = 0
    const fences: number[] = []
    const work = async (from: View) => {
      for (let round = 0; round < 5; round++) {
        await locker(from).using(key, { waitMs: 30_000 }, ({ fence }) => {
          expect(++held).toBe(1)
          fences.push(fence)
          held--
        })
      }
    }
    await Promise.all(views.map(work))
    expect(fences).toHaveLength(15)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    await nothingLeft()
  })

  test('L12: where no majority is free, a contender learns when one will be, and gives back the rest', async () => {
    const name = `sluice:lock:{${key}}`
    const taken = [...minority.map((index) => index + 1), 0]
    for (const [place, index] of taken.entries())
      await masters.servers[index]?.command(
        'SET',
        name,
        `=t${place} 1 `,
        'PX',
        20_000 * (place + 1),
      )
    const reply = await view.lock.acquire([key], claim('a'))
    if (reply.state !== 'held') throw new Error(reply.state)
    expect(reply.leftMs).toBeGreaterThan(15_000)
    expect(reply.leftMs).toBeLessThanOrEqual(20_000)
    await eventually(async () => (await masters.holders(key)) === taken.length)
    await masters.servers[0]?.command('DEL', name)
    await using lease = await locker().acquire(key)
    expect(lease.fence).toBeGreaterThan(1)
  })

  test('L12: fences rise over 100 grants whose majorities change, among servers whose clocks differ', async () => {
    const out = new Set<number>()
    const skewed = await masters.join((client, index) => ahead(client, index, out))
    let last = 0
    for (let round = 0; round < 100; round++) {
      out.clear()
      for (let lost = 0; lost < minority.length; lost++)
        out.add((round * (lost + 1) + lost) % count)
      const reply = await skewed.lock.acquire([key], claim(`t${round}`))
      if (reply.state !== 'granted') throw new Error(`round ${round}: ${reply.state}`)
      expect(reply.fence).toBeGreaterThan(last)
      last = reply.fence
      out.clear()
      await skewed.lock.release([key], claim(`t${round}`))
      await nothingLeft()
    }
  })

  test('L12: fences rise although a master was restarted empty', async () => {
    let last = 0
    for (const server of masters.servers) {
      const lease = await locker().acquire(key, { waitMs: 5000 })
      expect(lease.fence).toBeGreaterThan(last)
      last = lease.fence
      await server.restart()
      await Promise.all(view.clients.map((client) => client.ping()))
      expect(await locker().tryAcquire(key)).toBeUndefined()
      expect(await lease.release()).toBe('released')
    }
    await using lease = await locker().acquire(key, { waitMs: 5000 })
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
