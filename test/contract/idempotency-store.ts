import { type Claim, type IdempotencyStore, type Lifetimes, memoryStore } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

/** A store under test, and its clock. */
export interface Place extends AsyncDisposable {
  readonly store: IdempotencyStore
  advance(ms: number): Promise<void>
}

const LEASE_MS = 30_000
const TTL_MS = 86_400_000
const lifetimes: Lifetimes = { leaseMs: LEASE_MS, resultTtlMs: TTL_MS }
const response = { status: 201, headers: [['location', '/orders/7']], body: '{"ok":true}' } as const

/** What every store of idempotency records must do. */
export function idempotencyStoreContract(name: string, open: () => Promise<Place>): void {
  describe(`idempotency records: ${name}`, () => {
    let place: Place
    let store: IdempotencyStore
    let subject: { scope: string; key: string }
    let keys = 0

    beforeAll(async () => {
      place = await open()
      store = place.store
    })
    afterAll(() => place[Symbol.asyncDispose]())
    beforeEach(() => {
      subject = { scope: 'shop', key: `order-${++keys}` }
    })

    const claim = (owner: string, changes: Partial<Claim> = {}) =>
      store.claim(subject, claimOf(owner, changes))
    const settle = (
      owner: string | undefined,
      state: 'completed' | 'tombstone' | 'unknown' | 'absent',
    ) => {
      const settlements = {
        completed: { state: 'completed', response },
        tombstone: { state: 'tombstone', tombstone: { status: 200, location: '/x' } },
        unknown: { state: 'unknown' },
        absent: { state: 'absent' },
      } as const
      return store.settle(subject, owner && ownerOf(owner), settlements[state], lifetimes)
    }
    const grantOf = async (owner: string, changes: Partial<Claim> = {}) => {
      const reply = await claim(owner, changes)
      if (reply.state !== 'started') throw new Error(`not started but ${reply.state}`)
      return reply
    }

    test('I1: one of many claims at once is granted, the others are in progress', async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => claim(`owner ${index}`)),
      )
      expect(replies.filter(({ state }) => state === 'started')).toHaveLength(1)
      expect(replies.filter(({ state }) => state === 'in-progress')).toHaveLength(49)
    })

    test('I1: what is in progress tells how long it has been running and how long its lease is', async () => {
      await claim('a')
      await place.advance(10_000)
      const reply = await claim('b')
      if (reply.state !== 'in-progress') throw new Error(reply.state)
      expect(reply.runningMs).toSatisfy(near(10_000))
      expect(reply.leaseLeftMs).toSatisfy(near(LEASE_MS - 10_000))
    })

    test('I5: a completed key brings its response along, for as long as results are remembered', async () => {
      await claim('a')
      expect(await settle('a', 'completed')).toBe('settled')
      await place.advance(TTL_MS - 10_000)
      expect(await claim('b')).toEqual({ state: 'replay', response })
      await place.advance(20_000)
      expect(await claim('b')).toMatchObject({ state: 'started', attempt: 1 })
    })

    test.each([
      ['text beyond ASCII', 'grüße 🚀\n\0'],
      ['nothing', ''],
      ['bytes that are no text', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
      ['a view of bytes', new Uint8Array([9, 10, 0, 255]).subarray(1)],
      ['a megabyte', Buffer.alloc(1_048_576, 0xe4)],
    ])('I5: a body of %s comes back as it was', async (_, body) => {
      await claim('a')
      const stored = {
        status: 200,
        reason: 'Très bien',
        headers: [
          ['set-thing', 'a\n"b"'],
          ['set-thing', 'ÿ'],
        ] as const,
        body,
      }
      await store.settle(subject, ownerOf('a'), { state: 'completed', response: stored }, lifetimes)
      const reply = await claim('b')
      if (reply.state !== 'replay') throw new Error(reply.state)
      const { body: replayed, ...rest } = reply.response
      expect({ ...stored, body: '' }).toEqual({ ...rest, body: '' })
      expect(typeof replayed).toBe(typeof body)
      expect(Buffer.from(replayed as string).equals(Buffer.from(body as string))).toBe(true)
      expect((await store.read(subject))?.response).toMatchObject(rest)
    })

    describe.each(['claimed', 'unknown', 'completed', 'tombstone'] as const)(
      'a key that is %s',
      (state) => {
        beforeEach(async () => {
          await claim('a', { caller: callerOf('alice') })
          if (state !== 'claimed') await settle('a', state)
        })

        test('I2: is a mismatch for another fingerprint', async () => {
          const other = { caller: callerOf('alice'), fingerprint: fingerprintOf('other') }
          expect(await claim('b', { ...other, rerun: true })).toEqual({ state: 'mismatch' })
        })

        test.each([callerOf('mallory'), callerOf('')])(
          'I4: is a stranger’s for another caller, whatever it asks for',
          async (caller) => {
            for (const fingerprint of [fingerprintOf('same'), fingerprintOf('other')])
              expect(await claim('b', { caller, fingerprint, rerun: true })).toEqual({
                state: 'stranger',
              })
            expect(await store.read(subject)).toMatchObject({ state, attempt: 1 })
          },
        )

        test('I11: says the same when it is inspected', async () => {
          const record = await store.read(subject)
          expect(record).toMatchObject({ ...subject, state, attempt: 1 })
          expect(record?.expiresInMs).toSatisfy(near(state === 'claimed' ? LEASE_MS : TTL_MS))
          expect(Date.now() - Number(record?.since)).toBeLessThan(TTL_MS)
          expect(record?.response).toEqual(state === 'completed' ? response : undefined)
          expect(record?.tombstone?.location).toBe(state === 'tombstone' ? '/x' : undefined)
        })
      },
    )

    test('I4: records of different scopes never meet, whatever their characters are', async () => {
      const names = ['', 'a', 'b', 'a:b', ':', '{', '}', '{a}', '*', '%', 'é', 'x'.repeat(300)]
      const subjects = names.flatMap((scope) =>
        names.slice(1).map((key) => ({ scope, key: `${key} ${subject.key}` })),
      )
      for (const one of subjects)
        expect(await store.claim(one, claimOf('a'))).toMatchObject({ state: 'started' })
      for (const one of subjects) {
        await store.settle(one, ownerOf('a'), { state: 'absent' }, lifetimes)
        expect(await store.read(one)).toBeUndefined()
      }
    })

    test('I10: a released key may be claimed again, by anybody and for anything', async () => {
      const first = await grantOf('a')
      expect(await settle('a', 'absent')).toBe('settled')
      expect(await store.read(subject)).toBeUndefined()
      const other = { fingerprint: fingerprintOf('other'), caller: callerOf('bob') }
      const second = await grantOf('b', other)
      expect(second.attempt).toBe(1)
      expect(second.fence).toBeGreaterThan(first.fence)
    })

    test('I11: a claim whose lease is over is unknown since then, and held until results are forgotten', async () => {
      await claim('a')
      const before = await store.read(subject)
      await place.advance(LEASE_MS + 5000)
      const held = await claim('b')
      if (held.state !== 'unknown') throw new Error(held.state)
      const sinceMs = Number(held.since) - Number(before?.since)
      // A memory store under a test's clock tells dates by the wall.
      if (store.remote) expect(sinceMs).toSatisfy(near(LEASE_MS))
      expect((await store.read(subject))?.expiresInMs).toSatisfy(near(TTL_MS - 5000))
      await place.advance(TTL_MS - 10_000)
      expect(await claim('b')).toMatchObject({ state: 'unknown' })
      await place.advance(10_000)
      expect(await claim('b')).toMatchObject({ state: 'started' })
    })

    test('I11: an unknown outcome may be rerun by one, with a higher attempt and fence', async () => {
      const fences = [await grantOf('a')]
      for (let attempt = 2; attempt <= 4; attempt++) {
        await place.advance(LEASE_MS + 1000)
        const replies = await Promise.all(
          ['x', 'y', 'z'].map((owner) => claim(`${owner}${attempt}`, { rerun: true })),
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

    test.each(['completed', 'tombstone'] as const)(
      'I11: a late owner settles as %s what nobody has claimed since',
      async (state) => {
        await claim('a')
        await place.advance(LEASE_MS + 1000)
        expect(await settle('a', state)).toBe('settled-late')
        expect(await store.read(subject)).toMatchObject({ state })
      },
    )

    test.each(['completed', 'tombstone', 'absent', 'unknown'] as const)(
      'I11: a late owner cannot say %s once another one has claimed the key',
      async (state) => {
        await claim('a')
        await place.advance(LEASE_MS + 1000)
        await claim('b', { rerun: true })
        expect(await settle('a', state)).toBe('refused')
        expect(await store.read(subject)).toMatchObject({ state: 'claimed', attempt: 2 })
        await settle('b', 'completed')
        expect(await settle('a', state)).toBe('refused')
        expect(await store.read(subject)).toMatchObject({ state: 'completed', attempt: 2 })
      },
    )

    test.each(['completed', 'absent'] as const)(
      'I11: the operator settles as %s what is unknown, and nothing else; the owner is too late then',
      async (state) => {
        expect(await settle(undefined, state)).toBe('refused')
        await claim('a')
        expect(await settle(undefined, state)).toBe('refused')
        await place.advance(LEASE_MS + 1000)
        expect(await settle(undefined, state)).toBe('settled-late')
        expect((await store.read(subject))?.state).toBe(state === 'absent' ? undefined : state)
        expect(await settle('a', 'completed')).toBe('refused')
        expect(await settle(undefined, state)).toBe('refused')
        expect((await claim('b')).state).toBe(state === 'absent' ? 'started' : 'replay')
      },
    )

    test('I9: what is abandoned is unknown at once, and may still be settled by its owner', async () => {
      await claim('a')
      expect(await settle('a', 'unknown')).toBe('settled')
      expect(await claim('b')).toMatchObject({ state: 'unknown' })
      await place.advance(LEASE_MS + 1000)
      expect(await store.read(subject)).toMatchObject({ state: 'unknown' })
      expect(await settle('a', 'completed')).toBe('settled-late')
    })

    test('I12: a renewed lease holds as long again, for its owner alone', async () => {
      await claim('a')
      for (let renewals = 0; renewals < 5; renewals++) {
        await place.advance(LEASE_MS - 5000)
        expect(await store.renew(subject, ownerOf('b'), lifetimes)).toBe(false)
        expect(await store.renew(subject, ownerOf('a'), lifetimes)).toBe(true)
      }
      const reply = await claim('b')
      if (reply.state !== 'in-progress') throw new Error(reply.state)
      expect(reply.leaseLeftMs).toSatisfy(near(LEASE_MS))
      await place.advance(LEASE_MS + 1000)
      expect(await store.renew(subject, ownerOf('a'), lifetimes)).toBe(false)
      expect((await store.read(subject))?.expiresInMs).toSatisfy(near(TTL_MS - 1000))
    })

    test.each(['completed', 'tombstone', 'absent', 'unknown'] as const)(
      'I12: a claim that was settled as %s is not renewed',
      async (state) => {
        await claim('a')
        await settle('a', state)
        expect(await store.renew(subject, ownerOf('a'), lifetimes)).toBe(false)
        expect((await store.read(subject))?.state).toBe(state === 'absent' ? undefined : state)
      },
    )

    test('I13: a claim that is sent again is the same grant', async () => {
      const first = await grantOf('a')
      await place.advance(10_000)
      expect(await claim('a')).toEqual(first)
      await place.advance(LEASE_MS + 1000)
      expect(await claim('a')).toEqual(first)
      expect(await claim('b')).toMatchObject({ state: 'in-progress' })
    })

    test.each(['completed', 'tombstone'] as const)(
      'I14: a settlement as %s that is sent again is settled already, and changes nothing',
      async (state) => {
        await claim('a')
        expect(await settle('a', state)).toBe('settled')
        const record = await store.read(subject)
        await place.advance(10_000)
        expect(await settle('a', state)).toBe('settled')
        const { response: replayed, tombstone, since, attempt } = (await store.read(subject)) ?? {}
        expect({ replayed, tombstone, attempt }).toEqual({
          replayed: record?.response,
          tombstone: record?.tombstone,
          attempt: 1,
        })
        if (store.remote) expect(since).toEqual(record?.since)
        expect(await settle('a', state === 'completed' ? 'tombstone' : 'completed')).toBe('refused')
        expect(await settle('a', 'absent')).toBe('refused')
        expect(await settle('b', state)).toBe('refused')
      },
    )

    test('I15: whoever watches a key is woken when it is settled, and one alone when it is free', async () => {
      await claim('a')
      await claim('b', { willWait: true })
      const watches = [store.watch(subject), store.watch(subject), store.watch(subject)]
      await Promise.all(watches.map(({ ready }) => ready))
      let woken = 0
      const changed = watches.map((watch) => watch.changed().then(() => woken++))
      await settle('a', 'absent')
      await Promise.race(changed)
      await newsOfAnotherKey()
      expect(woken).toBe(1)
      await claim('b')
      await settle('b', 'completed')
      await Promise.all(changed)
      expect(woken).toBe(3)
      for (const watch of watches) watch.close()
    })

    /** What is sent by the same way later arrives later. */
    async function newsOfAnotherKey(): Promise<void> {
      const other = { ...subject, key: `${subject.key} other` }
      await store.claim(other, claimOf('a'))
      await store.claim(other, claimOf('b', { willWait: true }))
      const watch = store.watch(other)
      await watch.ready
      await store.settle(other, ownerOf('a'), { state: 'completed', response }, lifetimes)
      await watch.changed()
      watch.close()
    }

    test('I11: lists what is unknown, of all scopes, and nothing else', async () => {
      const lost = [
        { scope: '', key: `lost "1" ${subject.key}` },
        { scope: 'ü'.repeat(200), key: `lost:2 ${subject.key}` },
        { scope: 'shop', key: `lost{3} ${subject.key}` },
      ]
      for (const one of lost) await store.claim(one, claimOf('a'))
      await place.advance(LEASE_MS + 1000)
      await claim('a')
      const done = { ...subject, key: `${subject.key} done` }
      await store.claim(done, claimOf('a'))
      await store.settle(done, ownerOf('a'), { state: 'completed', response }, lifetimes)
      const abandoned = { ...subject, key: `${subject.key} abandoned` }
      await store.claim(abandoned, claimOf('a'))
      await store.settle(abandoned, ownerOf('a'), { state: 'unknown' }, lifetimes)
      const mine = async () =>
        (await unknown(store)).filter(({ key }) => key.includes(subject.key)).map(({ key }) => key)
      expect((await mine()).sort()).toEqual([...lost, abandoned].map(({ key }) => key).sort())
      for (const one of lost) await store.settle(one, undefined, { state: 'absent' }, lifetimes)
      await store.settle(abandoned, ownerOf('a'), { state: 'completed', response }, lifetimes)
      expect(await mine()).toEqual([])
    })
  })
}

/** The memory store under a clock of the test's. */
export async function memoryPlace(): Promise<Place> {
  let now = 0
  const store = memoryStore({ now: () => now })
  return {
    store: store.idempotency as IdempotencyStore,
    advance: async (ms) => {
      now += ms
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

export function claimOf(owner: string, changes: Partial<Claim> = {}): Claim {
  return {
    owner: ownerOf(owner),
    fingerprint: fingerprintOf('same'),
    caller: callerOf(''),
    rerun: false,
    willWait: false,
    ...lifetimes,
    ...changes,
  }
}

/** 22 characters. */
export function ownerOf(name: string): string {
  return name.padEnd(22, '_')
}

/** 43 characters. */
export function fingerprintOf(content: string): string {
  return content.padEnd(43, '_')
}

function callerOf(name: string): string {
  return name.padEnd(22, '-')
}

/** Real time goes on below the test's clock. */
function near(expectedMs: number): (ms: unknown) => boolean {
  return (ms) => Math.abs(Number(ms) - expectedMs) < 3000
}

async function unknown(store: IdempotencyStore) {
  const records = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page = await store.unknown(from)
    records.push(...page.records)
    from = page.next
  }
  return records
}
