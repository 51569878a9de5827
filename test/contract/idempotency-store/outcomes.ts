import { expect, test } from 'vitest'
import {
  callerOf,
  claimOf,
  fingerprintOf,
  type KeyUnderTest,
  lifetimes,
  ownerOf,
  response,
} from './key-under-test.ts'

/** How claims end, and who hears of it. */
export function outcomeTests(at: KeyUnderTest): void {
  test.each([
    ['text beyond ASCII', 'grüße 🚀\n\0'],
    ['nothing', ''],
    ['bytes that are no text', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['a view of bytes', new Uint8Array([9, 10, 0, 255]).subarray(1)],
    ['a megabyte', Buffer.alloc(1_048_576, 0xe4)],
  ])('I5: a body of %s comes back as it was', async (_, body) => {
    await at.claim('a')
    const stored = {
      status: 200,
      reason: 'Très bien',
      headers: [
        ['set-thing', 'a\n"b"'],
        ['set-thing', 'ÿ'],
      ] as const,
      body,
    }
    await at.store.settle(
      at.subject,
      ownerOf('a'),
      { state: 'completed', response: stored },
      lifetimes,
    )
    const reply = await at.claim('b')
    if (reply.state !== 'replay') throw new Error(reply.state)
    const { body: replayed, ...rest } = reply.response
    expect({ ...stored, body: '' }).toEqual({ ...rest, body: '' })
    expect(typeof replayed).toBe(typeof body)
    expect(Buffer.from(replayed as string).equals(Buffer.from(body as string))).toBe(true)
    expect((await at.store.read(at.subject))?.response).toMatchObject(rest)
  })

  test('I10: a released key may be claimed again, by anybody and for anything', async () => {
    const first = await at.grant('a')
    expect(await at.settle('a', 'absent')).toBe('settled')
    expect(await at.store.read(at.subject)).toBeUndefined()
    const other = { fingerprint: fingerprintOf('other'), caller: callerOf('bob') }
    const second = await at.grant('b', other)
    expect(second.attempt).toBe(1)
    expect(second.fence).toBeGreaterThan(first.fence)
  })

  test.each(['completed', 'tombstone'] as const)(
    'I14: a settlement as %s that is sent again is settled already, and changes nothing',
    async (state) => {
      await at.claim('a')
      expect(await at.settle('a', state)).toBe('settled')
      const record = await at.store.read(at.subject)
      await at.advance(10_000)
      expect(await at.settle('a', state)).toBe('settled')
      const {
        response: replayed,
        tombstone,
        since,
        attempt,
      } = (await at.store.read(at.subject)) ?? {}
      expect({ replayed, tombstone, attempt }).toEqual({
        replayed: record?.response,
        tombstone: record?.tombstone,
        attempt: 1,
      })
      if (at.store.remote) expect(since).toEqual(record?.since)
      expect(await at.settle('a', state === 'completed' ? 'tombstone' : 'completed')).toBe(
        'refused',
      )
      expect(await at.settle('a', 'absent')).toBe('refused')
      expect(await at.settle('b', state)).toBe('refused')
    },
  )

  test('I15: whoever watches a key is woken when it is settled, and one alone when it is free', async () => {
    await at.claim('a')
    await at.claim('b', { willWait: true })
    const watches = [
      at.store.watch(at.subject),
      at.store.watch(at.subject),
      at.store.watch(at.subject),
    ]
    await Promise.all(watches.map(({ ready }) => ready))
    const woken = watches.map(() => 0)
    const listen = (index: number) =>
      watches[index]?.changed().then(() => {
        woken[index] = (woken[index] ?? 0) + 1
      })
    const first = watches.map((_, index) => listen(index))
    await at.settle('a', 'absent')
    await Promise.race(first)
    await newsOfAnotherKey()
    expect([...woken].sort()).toEqual([0, 0, 1])
    // Whoever was woken in vain hears of what comes next.
    const second = listen(woken.indexOf(1))
    await at.claim('b')
    await at.settle('b', 'completed')
    await Promise.all([...first, second])
    expect([...woken].sort()).toEqual([1, 1, 2])
    for (const watch of watches) watch.close()
  })

  /** What is sent by the same way later arrives later. */
  async function newsOfAnotherKey(): Promise<void> {
    const other = { ...at.subject, key: `${at.subject.key} other` }
    await at.store.claim(other, claimOf('a'))
    await at.store.claim(other, claimOf('b', { willWait: true }))
    const watch = at.store.watch(other)
    await watch.ready
    await at.store.settle(other, ownerOf('a'), { state: 'completed', response }, lifetimes)
    await watch.changed()
    watch.close()
  }
}
