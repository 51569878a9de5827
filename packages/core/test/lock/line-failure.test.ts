import { describe, expect, test, vi } from 'vitest'
import { pass, startFresh } from './fresh.ts'
import { hold, process, store } from './line-process.ts'

startFresh()

describe('a line whose store fails', () => {
  test('L6, L11: tells who never had an answer, at once', async () => {
    const { store, locker } = process()
    store.broken = 'fails'
    await expect(locker.acquire('k', { waitMs: 9000 })).rejects.toMatchObject({
      code: 'store-unavailable',
      reason: 'failure',
    })
  })

  test('L6: waits no longer than waitMs, and one deadline', async () => {
    const { store, locker } = process()
    store.broken = 'loses its request'
    const unavailable = { code: 'store-unavailable', reason: 'deadline' }
    const outcomes: unknown[] = []
    for (const waitMs of [100, 9000])
      locker.acquire(`k ${waitMs}`, { waitMs }).catch((error: unknown) => outcomes.push(error))
    await pass(100)
    expect(outcomes).toEqual([expect.objectContaining(unavailable)])
    await pass(401)
    expect(outcomes).toHaveLength(2)
    expect(outcomes[1]).toMatchObject(unavailable)
  })

  test('L6: keeps those who stand in line, and serves them when it is back', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder, 20_000).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'patient', log)
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(5000)
    await lease.release()
    waiting.store.broken = undefined
    await pass(5000)
    await wait
    expect(log).toEqual(['patient'])
  })

  test('L6, L11: tells those who come then, at the next attempt', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 60_000).acquire('k')
    const patient = waiting.locker.acquire('k', { waitMs: 20_000 })
    patient.catch(() => {})
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(5000)
    const told = vi.fn()
    waiting.locker.acquire('k', { waitMs: 15_000 }).catch(told)
    await pass(1000)
    expect(told).toHaveBeenCalledWith(expect.objectContaining({ code: 'store-unavailable' }))
    await pass(20_000)
  })

  test('L6: says at the end of the wait that the last answer is missing', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 60_000).acquire('k')
    const outcomes: unknown[] = []
    const wait = waiting.locker.acquire('k', { waitMs: 9000 })
    wait.catch((error: unknown) => outcomes.push(error))
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(8900)
    expect(outcomes).toEqual([expect.objectContaining({ code: 'store-unavailable' })])
  })
})
