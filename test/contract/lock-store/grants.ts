import { expect, test } from 'vitest'
import { claimOf, LEASE_MS, type LocksUnderTest, near } from './locks-under-test.ts'

/** Who holds a lock, with which fence, and for how long. */
export function grantTests(at: LocksUnderTest): void {
  test('L1: one of many claims at once is granted, the others learn how long the lease is', async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) => at.acquire(`t${index}`)),
    )
    const held = replies.flatMap((reply) => (reply.state === 'held' ? [reply] : []))
    expect(held).toHaveLength(49)
    for (const reply of held) {
      expect(reply.leftMs).toSatisfy(near(LEASE_MS))
      expect(reply.since).toBeUndefined()
    }
  })

  test('L1: only the token that holds a lock releases it, once', async () => {
    await at.grant('a')
    expect(await at.release('b')).toBe(false)
    expect(await at.release('')).toBe(false)
    expect((await at.acquire('c')).state).toBe('held')
    expect(await at.release('a')).toBe(true)
    expect(await at.release('a')).toBe(false)
    await at.grant('c')
    expect(await at.release('a')).toBe(false)
    expect(await at.release('c')).toBe(true)
  })

  test('L1: no token is taken for a longer one that begins with it', async () => {
    const [short, long] = [claimOf('a'), { ...claimOf('a'), token: `${claimOf('a').token}b` }]
    const { state } = await at.store.acquire([at.key], long)
    expect(state).toBe('granted')
    expect((await at.store.acquire([at.key], short)).state).toBe('held')
    expect(await at.store.release([at.key], short)).toBe(false)
    expect(await at.store.release([at.key], long)).toBe(true)
  })

  test('L1: a lease that ends frees its lock, and is released no more', async () => {
    const first = await at.grant('a')
    await at.advance(LEASE_MS - 5000)
    expect((await at.refusal('b')).leftMs).toSatisfy(near(5000))
    await at.advance(6000)
    const second = await at.grant('b')
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(await at.store.release([at.key], first)).toBe(false)
    expect(await at.inspect()).toMatchObject({ fence: second.fence })
  })

  test('L1: only the token that holds a lock extends it, and only while it does', async () => {
    const grant = await at.grant('a')
    for (let times = 0; times < 3; times++) {
      await at.advance(LEASE_MS - 5000)
      const stranger = { ...grant, token: claimOf('b').token }
      expect(await at.store.extend([at.key], stranger, LEASE_MS)).toBe(false)
      expect(await at.store.extend([at.key], grant, LEASE_MS)).toBe(true)
    }
    expect((await at.refusal('b')).leftMs).toSatisfy(near(LEASE_MS))
    expect(await at.store.extend([at.key], grant, 10_000)).toBe(true)
    expect((await at.refusal('b')).leftMs).toSatisfy(near(10_000))
    await at.advance(11_000)
    expect(await at.store.extend([at.key], grant, LEASE_MS)).toBe(false)
    expect(await at.inspect()).toBeUndefined()
    await at.grant('b')
    expect(await at.store.extend([at.key], grant, LEASE_MS)).toBe(false)
  })

  test('L2: fences rise over all grants of a key: released, expired, passed', async () => {
    const grants = [await at.grant('a')]
    for (const token of ['b', 'c', 'd']) {
      await at.release(grants.at(-1)?.token as string)
      grants.push(await at.grant(token))
    }
    await at.advance(LEASE_MS + 1000)
    grants.push(await at.grant('e'))
    const passed = await at.store.pass(
      at.key,
      grants.at(-1) as (typeof grants)[0],
      claimOf('f'),
      { waiter: 'w' },
      true,
    )
    const fences = grants.map(({ fence }) => fence)
    if (passed.next.state === 'granted') fences.push(passed.next.fence)
    expect(fences).toHaveLength(6)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    expect(fences.every(Number.isSafeInteger)).toBe(true)
  })

  test('L2: a fence is the time in microseconds at least, and so rises when nothing is remembered', async () => {
    const { fence } = await at.grant('a')
    expect(fence).toBeGreaterThan((Date.now() - 60_000) * 1000)
    await at.release('a')
    await at.advance(72 * 3_600_000)
    const later = await at.grant('b')
    expect(later.fence).toBeGreaterThan(fence)
    await at.advance(-72 * 3_600_000)
  })

  test('L2: fences rise although the clock was set back', async () => {
    if (!at.store.remote) return
    const first = await at.grant('a')
    await at.release('a')
    await at.advance(-3_600_000)
    const second = await at.grant('b')
    await at.advance(10_000)
    const state = await at.inspect()
    await at.advance(3_590_000)
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(second.fence - first.fence).toBeLessThan(60_000_000)
    expect(state).toMatchObject({ fence: second.fence })
    expect(state?.heldMs).toSatisfy(near(10_000))
  })

  test('L4: a claim sent twice with one token is one grant, whose lease counts from the last', async () => {
    const first = await at.grant('a')
    await at.advance(10_000)
    expect(await at.grant('a')).toEqual(first)
    const holder = await at.inspect()
    expect(holder?.remainingMs).toSatisfy(near(LEASE_MS))
    expect(holder?.heldMs).toSatisfy(near(10_000))
    expect(await at.release('a')).toBe(true)
    expect(await at.inspect()).toBeUndefined()
  })

  test.each(['', '{"a":[1,"ü"]}', '"  >{}@1 2 "', '0', `"${'x'.repeat(1000)}🚀"`])(
    'L17: tells others the fence, the times, and what the holder said of itself (%#)',
    async (metadata) => {
      expect(await at.inspect()).toBeUndefined()
      const reply = await at.store.acquire([at.key], claimOf('a', metadata))
      if (reply.state !== 'granted') throw new Error(reply.state)
      await at.advance(10_000)
      await at.store.extend([at.key], { ...claimOf('a', metadata), fence: reply.fence }, LEASE_MS)
      const holder = await at.inspect()
      expect(holder).toMatchObject({ fence: reply.fence, metadata, waiters: 0 })
      expect(holder?.heldMs).toSatisfy(near(10_000))
      expect(holder?.remainingMs).toSatisfy(near(LEASE_MS))
      await at.release('a')
      expect(await at.inspect()).toBeUndefined()
    },
  )

  test('locks of different keys never meet, whatever their characters are', async () => {
    const odd = [
      'a',
      'A',
      'a:b',
      ':',
      '{',
      '}',
      '{}',
      '{a}',
      '{a}b',
      '{b}a',
      'b{a}',
      '*',
      '[a]',
      '?',
    ]
    const more = [' ', '%', '%20', '\n', '\0', 'é', 'e\u0301', '🚀', '\ud800', 'f', 'w', '{a}f']
    const long = ['x', 'y'].map((last) => `${'k'.repeat(5000)}${last}`)
    const keys = [...odd, ...more, ...long, ...long.map((key) => `{${key}}`)]
    const release = () => Promise.all(keys.map((key) => at.release('odd', key)))
    await release()
    for (const key of keys) await at.grant('odd', undefined, key)
    expect(await release()).toEqual(keys.map(() => true))
    for (const key of keys) expect(await at.store.inspect(key)).toBeUndefined()
  })
}
