import { LeaseLostError, LockTimeoutError } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { heal, partition } from './masters.ts'
import { claim, mastersUnderTest } from './masters-under-test.ts'

describe.each([3, 5])('%i independent masters', (count) => {
  const at = mastersUnderTest(count)

  test('L12: grant, refuse, tell of the holder, and free together', async () => {
    const other = await at.masters.join()
    const lease = await at.locker().acquire(at.key, { metadata: { by: 'a' } })
    expect(await at.locker(other).tryAcquire(at.key)).toBeUndefined()
    await expect(at.locker(other).acquire(at.key)).rejects.toBeInstanceOf(LockTimeoutError)
    const state = await at.locker(other).inspect(at.key)
    expect(state).toMatchObject({ fence: lease.fence, metadata: { by: 'a' }, waiters: 0 })
    expect(state?.remainingMs).toBeGreaterThan(5000)
    await lease.extend()
    expect(await lease.release()).toBe('released')
    expect(await at.locker(other).inspect(at.key)).toBeUndefined()
    await at.nothingLeft()
    await using next = await at.locker(other).acquire(at.key)
    expect(next.fence).toBeGreaterThan(lease.fence)
  })

  test('L12: a minority that is gone, or hangs, delays nobody and is not missed', async () => {
    for (const lose of [
      () => partition(at.view, ...at.minority),
      () => {
        for (const index of at.minority) at.view.links[index]?.stall()
      },
    ]) {
      lose()
      let fence = 0
      for (let round = 0; round < 8; round++) {
        const lease = await at.locker().acquire(at.key, { waitMs: 10_000 })
        expect(lease.fence).toBeGreaterThan(fence)
        fence = lease.fence
        expect(await at.locker().tryAcquire(at.key)).toBeUndefined()
        expect(await at.locker().inspect(at.key)).toMatchObject({ fence })
        await lease.extend()
        expect(await lease.release()).toBe('released')
      }
      await heal(at.view)
    }
    await at.nothingLeft()
  })

  test('L12: without a majority nobody is granted or refused anything, and nothing is left', async () => {
    const other = await at.masters.join()
    partition(at.view, ...at.majority)
    const unavailable = { code: 'store-unavailable' }
    await expect(at.locker().acquire(at.key)).rejects.toMatchObject(unavailable)
    await expect(at.locker().acquire(at.key, { waitMs: 300 })).rejects.toMatchObject(unavailable)
    await expect(at.locker().inspect(at.key)).rejects.toMatchObject(unavailable)
    await at.nothingLeft()
    await using lease = await at.locker(other).acquire(at.key)
    expect(lease.fence).toBeGreaterThan(0)
    await heal(at.view)
    await eventually(async () => (await at.locker().tryAcquire(at.key)) === undefined)
  })

  test('L3: what is granted after the others have failed is given back', async () => {
    for (const index of at.majority) at.view.links[index]?.stall()
    await expect(at.locker().acquire(at.key)).rejects.toMatchObject({ code: 'store-unavailable' })
    for (const index of at.majority) at.view.links[index]?.resume()
    await at.nothingLeft()
  })

  test('L3: what a slow master grants after a release is given back', async () => {
    at.view.links[0]?.stall()
    at.view.links[0]?.cut() // what is sent from now on waits in the client
    at.view.links[0]?.refuse()
    const lease = await at.locker().acquire(at.key)
    await lease.release()
    await heal(at.view)
    await at.nothingLeft()
  })

  test('L12: no grant counts that took longer than its lease', async () => {
    // Above the lease: a majority of others and the one that has the highest fence may agree within one delay.
    for (const index of at.majority) at.view.links[index]?.delayReplies(200)
    await expect(at.view.lock.acquire([at.key], claim('a', 150))).rejects.toThrow(
      /took longer|no majority/,
    )
    await heal(at.view)
    await at.nothingLeft()
  })

  test('L12: a lease that its holder cannot extend on a majority ends before it is granted again', async () => {
    const other = await at.masters.join()
    const lease = await at.locker(at.view, 2000).acquire(at.key)
    partition(at.view, ...at.majority)
    await expect(lease.extend()).rejects.toMatchObject({ code: 'store-unavailable' })
    const waiting = at.locker(other).acquire(at.key, { waitMs: 10_000 })
    await using next = await waiting
    expect(lease.remainingMs()).toBeLessThanOrEqual(0)
    expect(next.fence).toBeGreaterThan(lease.fence)
    await heal(at.view)
    expect(await at.view.lock.extend([at.key], { ...claim(lease.token), fence: 0 }, 2000)).toBe(
      false,
    )
  })

  test('L12: masters that forgot a lease are a majority at last: it is lost', async () => {
    const lease = await at.locker().acquire(at.key)
    for (const index of at.minority)
      await at.masters.servers[index]?.command('DEL', `sluice:lock:{${at.key}}`)
    await lease.extend()
    for (const index of at.majority)
      await at.masters.servers[index]?.command('DEL', `sluice:lock:{${at.key}}`)
    await expect(lease.extend()).rejects.toBeInstanceOf(LeaseLostError)
    expect(await lease.release()).toBe('already-lost')
  })

  test('L12: a release that reached its masters one after the other was one release', async () => {
    const grant = { ...claim('a'), fence: 0 }
    expect((await at.view.lock.acquire([at.key], grant)).state).toBe('granted')
    partition(at.view, ...at.majority)
    await expect(at.view.lock.release([at.key], grant)).rejects.toThrow('no majority')
    await heal(at.view)
    expect(await at.view.lock.release([at.key], grant)).toBe(true)
    await at.nothingLeft()
  })

  test('L12: where no majority is free, a contender learns when one will be, and gives back the rest', async () => {
    const name = `sluice:lock:{${at.key}}`
    const taken = [...at.minority.map((index) => index + 1), 0]
    for (const [place, index] of taken.entries())
      await at.masters.servers[index]?.command(
        'SET',
        name,
        `=t${place} 1 `,
        'PX',
        20_000 * (place + 1),
      )
    const reply = await at.view.lock.acquire([at.key], claim('a'))
    if (reply.state !== 'held') throw new Error(reply.state)
    expect(reply.leftMs).toBeGreaterThan(15_000)
    expect(reply.leftMs).toBeLessThanOrEqual(20_000)
    await eventually(async () => (await at.masters.holders(at.key)) === taken.length)
    await at.masters.servers[0]?.command('DEL', name)
    await using lease = await at.locker().acquire(at.key)
    expect(lease.fence).toBeGreaterThan(1)
  })
})
