import {
  type AcquireOptions,
  ConfigurationError,
  createLocker,
  type LockerOptions,
  memoryStore,
} from '@sluice/core'
import { describe, expect, test } from 'vitest'

describe('what a locker is asked for', () => {
  const locker = createLocker({ store: memoryStore() })

  test.each([undefined, null, '', 7, {}, [], [''], ['a', 7]])('L11: is no key: %o', async (key) => {
    for (const ask of [
      () => locker.acquire(key as string),
      () => locker.tryAcquire(key as string),
      () => locker.using(key as string, {}, () => {}),
      () => locker.inspect(key as string),
    ])
      await expect(ask()).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('L17: shows one key at a time', async () => {
    await expect(locker.inspect(['a', 'b'] as unknown as string)).rejects.toMatchObject({
      code: 'configuration',
      option: 'key',
    })
  })

  test.each([
    [{ waitMs: -1 }, 'waitMs'],
    [{ waitMs: 0.5 }, 'waitMs'],
    [{ waitMs: 2 ** 31 }, 'waitMs'],
    [{ signal: 'abort' }, 'signal'],
    [{ metadata: () => {} }, 'metadata'],
    [{ metadata: 1n }, 'metadata'],
    [{ wait: 1 }, 'wait'],
  ])('are no options: %o', async (options, option) => {
    const asked = locker.acquire('k', options as AcquireOptions)
    await expect(asked).rejects.toMatchObject({ code: 'configuration', option })
    expect(await locker.inspect('k')).toBeUndefined()
  })

  test('L6: is not to wait, where it only tries', async () => {
    const options = { waitMs: 100 } as AcquireOptions
    const tried = locker.tryAcquire('k', options)
    await expect(tried).rejects.toMatchObject({ code: 'configuration', option: 'waitMs' })
  })

  test('L17: can hold 1,024 characters of metadata, as JSON', async () => {
    const metadata = 'x'.repeat(1022)
    await using lease = await locker.acquire('long', { metadata })
    expect((await locker.inspect(lease.key as string))?.metadata).toBe(metadata)
    const longer = locker.acquire('longer', { metadata: `${metadata}x` })
    await expect(longer).rejects.toMatchObject({ code: 'configuration', option: 'metadata' })
  })

  test('is refused with the reason of a signal that is aborted already', async () => {
    const signal = AbortSignal.abort('no more')
    await expect(locker.acquire('k', { signal })).rejects.toBe('no more')
    expect(await locker.inspect('k')).toBeUndefined()
  })

  test.each([
    [{ leaseMs: 49 }, 'leaseMs'],
    [{ maxHoldMs: 0 }, 'maxHoldMs'],
    [{ renew: 1 }, 'renew'],
    [{ replicas: { min: 0, waitMs: 10 } }, 'replicas'],
    [{ replicas: { min: 1, waitMs: 10, max: 1 } }, 'replicas'],
    [{ handOver: 'no' }, 'handOver'],
    [{ timeoutMs: 60_001 }, 'timeoutMs'],
    [{ store: {} }, 'store'],
    [{ lease: 1 }, 'lease'],
  ])('are no options of the locker itself: %o', (options, option) => {
    const create = () => createLocker(options as LockerOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'configuration', option }))
  })

  test('L13: is no confirmation of replicas from a store that has none', () => {
    const replicas = { min: 1, waitMs: 10 }
    const create = () => createLocker({ store: memoryStore(), replicas })
    expect(create).toThrow(expect.objectContaining({ option: 'replicas' }))
  })
})
