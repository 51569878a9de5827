import { describe, expect, test } from 'vitest'
import { FarStore } from './far-store.ts'

describe('replicas', () => {
  const options = { replicas: { min: 2, waitMs: 10 } }

  test('L13: that confirm a grant in sufficient number let it be', async () => {
    const store = new FarStore()
    store.replicas = 2
    await using lease = await store.locker(options).acquire('k')
    expect(lease.remainingMs()).toBeGreaterThan(0)
  })

  test('L5, L13: that confirm it when the lease is over have confirmed nothing', async () => {
    const store = new FarStore()
    store.replicas = 2
    store.replicatedAfterMs = 60
    const locker = store.locker({ ...options, leaseMs: 50 })
    await expect(locker.acquire('k')).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  test('L13: too few, and the grant is given back', async () => {
    const store = new FarStore()
    store.replicas = 1
    const locker = store.locker(options)
    const refused = { code: 'store-unavailable', message: expect.stringContaining('1 of 2') }
    await expect(locker.acquire('k')).rejects.toMatchObject(refused)
    await expect(locker.tryAcquire(['a', 'b'])).rejects.toMatchObject(refused)
    for (const key of ['k', 'a', 'b']) expect(await locker.inspect(key)).toBeUndefined()
  })
})
