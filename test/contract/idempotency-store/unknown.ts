import { expect, test } from 'vitest'
import {
  claimOf,
  type KeyUnderTest,
  LEASE_MS,
  lifetimes,
  near,
  ownerOf,
  response,
  TTL_MS,
} from './key-under-test.ts'

const OWN_TTL_MS = 600_000

/** What nobody knows: owners that fell silent. */
export function unknownTests(at: KeyUnderTest): void {
  test('I11: a claim whose lease is over is unknown since then, and held until results are forgotten', async () => {
    await at.claim('a')
    const before = await at.store.read(at.subject)
    await at.advance(LEASE_MS + 5000)
    const held = await at.claim('b')
    if (held.state !== 'unknown') throw new Error(held.state)
    const sinceMs = Number(held.since) - Number(before?.since)
    // A memory store under a test's clock tells dates by the wall.
    if (at.store.remote) expect(sinceMs).toSatisfy(near(LEASE_MS))
    expect((await at.store.read(at.subject))?.expiresInMs).toSatisfy(near(TTL_MS - 5000))
    await at.advance(TTL_MS - 10_000)
    expect(await at.claim('b')).toMatchObject({ state: 'unknown' })
    await at.advance(10_000)
    expect(await at.claim('b')).toMatchObject({ state: 'started' })
  })

  test('I11: an unknown outcome may be rerun by one, with a higher attempt and fence', async () => {
    const fences = [await at.grant('a')]
    for (let attempt = 2; attempt <= 4; attempt++) {
      await at.advance(LEASE_MS + 1000)
      const replies = await Promise.all(
        ['x', 'y', 'z'].map((owner) => at.claim(`${owner}${attempt}`, { rerun: true })),
      )
      const granted = replies.flatMap((reply) => (reply.state === 'started' ? [reply] : []))
      expect(granted).toHaveLength(1)
      expect(granted[0]?.attempt).toBe(attempt)
      fences.push(...granted)
    }
    const numbers = fences.map(({ fence }) => fence)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(numbers.every(Number.isSafeInteger)).toBe(true)
    // Microseconds of the wall clock are the floor: a store that forgot everything goes on above.
    for (const fence of numbers) expect(fence).toBeGreaterThan((Date.now() - 60_000) * 1000)
  })

  test('I11: fences rise although the clock of the server was set back', async () => {
    const first = await at.grant('a')
    await at.settle('a', 'absent')
    if (at.store.remote) await at.advance(-3_600_000)
    const second = await at.grant('b')
    await at.settle('b', 'unknown')
    const third = await at.grant('c', { rerun: true })
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(third.fence).toBeGreaterThan(second.fence)
    if (at.store.remote) await at.advance(3_600_000)
  })

  test.each(['completed', 'tombstone'] as const)(
    'I11: a late owner settles as %s what nobody has claimed since',
    async (state) => {
      await at.claim('a')
      await at.advance(LEASE_MS + 1000)
      expect(await at.settle('a', state)).toBe('settled-late')
      expect(await at.store.read(at.subject)).toMatchObject({ state })
    },
  )

  test.each(['completed', 'tombstone', 'absent', 'unknown'] as const)(
    'I11: a late owner cannot say %s once another one has claimed the key',
    async (state) => {
      await at.claim('a')
      await at.advance(LEASE_MS + 1000)
      await at.claim('b', { rerun: true })
      expect(await at.settle('a', state)).toBe('refused')
      expect(await at.store.read(at.subject)).toMatchObject({ state: 'claimed', attempt: 2 })
      await at.settle('b', 'completed')
      expect(await at.settle('a', state)).toBe('refused')
      expect(await at.store.read(at.subject)).toMatchObject({ state: 'completed', attempt: 2 })
    },
  )

  test.each(['completed', 'absent'] as const)(
    'I11: the operator settles as %s what is unknown, and nothing else; the owner is too late then',
    async (state) => {
      expect(await at.settle(undefined, state)).toBe('refused')
      await at.claim('a')
      expect(await at.settle(undefined, state)).toBe('refused')
      await at.advance(LEASE_MS + 1000)
      expect(await at.settle(undefined, state)).toBe('settled-late')
      expect((await at.store.read(at.subject))?.state).toBe(state === 'absent' ? undefined : state)
      expect(await at.settle('a', 'completed')).toBe('refused')
      expect(await at.settle(undefined, state)).toBe('refused')
      expect((await at.claim('b')).state).toBe(state === 'absent' ? 'started' : 'replay')
    },
  )

  test.each<[string, () => Promise<unknown>]>([
    ['whose lease is over', () => at.advance(LEASE_MS + 1000)],
    [
      'that was renewed before its lease was over',
      async () => {
        await at.advance(LEASE_MS / 2)
        await at.store.renew(at.subject, ownerOf('a'), { leaseMs: 1000, resultTtlMs: OWN_TTL_MS })
        await at.advance(LEASE_MS)
      },
    ],
    ['that was abandoned', () => settleOwn('unknown')],
    [
      'that was abandoned when its lease was over',
      async () => {
        await at.advance(LEASE_MS + 1000)
        await settleOwn('unknown')
        await at.advance(LEASE_MS)
      },
    ],
  ])('I11: the operator confirms a record %s for as long as its owner wanted', async (_, lose) => {
    await at.claim('a', { resultTtlMs: OWN_TTL_MS })
    await lose()
    expect(await at.settle(undefined, 'completed')).toBe('settled-late')
    const record = await at.store.read(at.subject)
    expect(record).toMatchObject({ state: 'completed', response })
    expect(record?.expiresInMs).toSatisfy(near(OWN_TTL_MS))
  })

  async function settleOwn(state: 'unknown') {
    const own = { leaseMs: LEASE_MS, resultTtlMs: OWN_TTL_MS }
    await at.store.settle(at.subject, ownerOf('a'), { state }, own)
  }

  test('I11: an owner that does not know either changes nothing of since when nobody knows', async () => {
    await at.claim('a')
    await at.advance(LEASE_MS + 100_000)
    const before = await at.store.read(at.subject)
    expect(await at.settle('a', 'unknown')).toBe('settled-late')
    const after = await at.store.read(at.subject)
    expect(after?.state).toBe('unknown')
    expect(Number(after?.since) - Number(before?.since)).toSatisfy(near(0))
  })

  test('I9: what is abandoned is unknown at once, and may still be settled by its owner', async () => {
    await at.claim('a')
    expect(await at.settle('a', 'unknown')).toBe('settled')
    expect(await at.claim('b')).toMatchObject({ state: 'unknown' })
    await at.advance(LEASE_MS + 1000)
    expect(await at.store.read(at.subject)).toMatchObject({ state: 'unknown' })
    expect(await at.settle('a', 'completed')).toBe('settled-late')
  })

  test('I11: lists what is unknown, of all scopes, and nothing else', async () => {
    const lost = [
      { scope: '', key: `lost "1" ${at.subject.key}` },
      { scope: 'ü'.repeat(200), key: `lost:2 ${at.subject.key}` },
      { scope: 'shop', key: `lost{3} ${at.subject.key}` },
    ]
    for (const one of lost) await at.store.claim(one, claimOf('a'))
    await at.advance(LEASE_MS + 1000)
    await at.claim('a')
    const done = { ...at.subject, key: `${at.subject.key} done` }
    await at.store.claim(done, claimOf('a'))
    await at.store.settle(done, ownerOf('a'), { state: 'completed', response }, lifetimes)
    const abandoned = { ...at.subject, key: `${at.subject.key} abandoned` }
    await at.store.claim(abandoned, claimOf('a'))
    await at.store.settle(abandoned, ownerOf('a'), { state: 'unknown' }, lifetimes)
    const mine = async () =>
      (await at.unknown()).filter(({ key }) => key.includes(at.subject.key)).map(({ key }) => key)
    expect((await mine()).sort()).toEqual([...lost, abandoned].map(({ key }) => key).sort())
    for (const one of lost) await at.store.settle(one, undefined, { state: 'absent' }, lifetimes)
    await at.store.settle(abandoned, ownerOf('a'), { state: 'completed', response }, lifetimes)
    expect(await mine()).toEqual([])
  })
}
