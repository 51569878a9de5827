import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { inLine, processNo, startProcesses, waitMs } from './lock-processes.ts'

startProcesses()

describe('several keys in Redis', () => {
  test('L14: are taken in one order, whatever the order of the callers', async () => {
    let inside = 0
    const fences: number[] = []
    const works = Array.from({ length: 24 }, (_, i) =>
      processNo(i)
        .locker({ leaseMs: 2000 })
        .using(i % 2 ? ['a', 'b', 'c'] : ['c', 'b', 'a'], { waitMs }, async ({ fence }) => {
          expect(++inside).toBe(1)
          fences.push(fence)
          await sleep(1)
          inside--
        }),
    )
    const singles = Array.from({ length: 12 }, (_, i) =>
      processNo(i)
        .locker()
        .using('b', { waitMs }, async ({ fence }) => {
          expect(++inside).toBe(1)
          fences.push(fence)
          await sleep(1)
          inside--
        }),
    )
    await Promise.all([...works, ...singles])
    expect(fences).toHaveLength(36)
    expect(fences).toEqual([...fences].sort((a, b) => a - b))
    for (const key of ['a', 'b', 'c'])
      expect(await processNo(0).locker().inspect(key)).toBeUndefined()
  })
})

test('L8, L17: a lease in Redis is renewed while its work runs, and shows how long it is held', async () => {
  const locker = processNo(0).locker({ leaseMs: 600 })
  await locker.inspect('k') // connected
  let lease: Lease | undefined
  await locker.using('k', { metadata: { job: 7 } }, async (held) => {
    lease = held
    await sleep(1200)
    expect(held.signal.aborted).toBe(false)
    const state = await processNo(1).locker().inspect('k')
    expect(state).toMatchObject({ fence: held.fence, metadata: { job: 7 }, waiters: 0 })
    expect(state?.heldMs).toBeGreaterThanOrEqual(1190)
    expect(state?.remainingMs).toBeLessThanOrEqual(600)
  })
  expect(lease?.remainingMs()).toBe(0)
  expect(await locker.inspect('k')).toBeUndefined()
})

test('L1: a locker that polls excludes one that stands in line, and the other way round', async () => {
  const polling = processNo(0).locker({ handOver: false })
  const inLineLocker = processNo(1).locker()
  const first = await polling.acquire('k')
  const second = inLineLocker.acquire('k', { waitMs })
  await inLine(1)
  expect(await polling.tryAcquire('k')).toBeUndefined()
  expect(await first.release()).toBe('released')
  const lease = await second
  const third = polling.acquire('k', { waitMs })
  expect(await lease.release()).toBe('released')
  expect((await third).fence).toBeGreaterThan(lease.fence)
  expect(await (await third).release()).toBe('released')
})
