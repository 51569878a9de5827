import { beforeEach, describe, expect, test } from 'vitest'
import {
  callerOf,
  claimOf,
  fingerprintOf,
  type KeyUnderTest,
  LEASE_MS,
  lifetimes,
  near,
  ownerOf,
  response,
  TTL_MS,
} from './key-under-test.ts'

/** Who may run, and who is told what instead. */
export function claimTests(at: KeyUnderTest): void {
  test('I1: one of many claims at once is granted, the others are in progress', async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) => at.claim(`owner ${index}`)),
    )
    expect(replies.filter(({ state }) => state === 'started')).toHaveLength(1)
    expect(replies.filter(({ state }) => state === 'in-progress')).toHaveLength(49)
  })

  test('I1: what is in progress tells how long it has been running and how long its lease is', async () => {
    await at.claim('a')
    await at.advance(10_000)
    const reply = await at.claim('b')
    if (reply.state !== 'in-progress') throw new Error(reply.state)
    expect(reply.runningMs).toSatisfy(near(10_000))
    expect(reply.leaseLeftMs).toSatisfy(near(LEASE_MS - 10_000))
  })

  test('I5: a completed key brings its response along, for as long as results are remembered', async () => {
    await at.claim('a')
    expect(await at.settle('a', 'completed')).toBe('settled')
    await at.advance(TTL_MS - 10_000)
    expect(await at.claim('b')).toEqual({ state: 'replay', response })
    await at.advance(20_000)
    expect(await at.claim('b')).toMatchObject({ state: 'started', attempt: 1 })
  })

  describe.each(['claimed', 'unknown', 'completed', 'tombstone'] as const)(
    'a key that is %s',
    (state) => {
      beforeEach(async () => {
        await at.claim('a', { caller: callerOf('alice') })
        if (state !== 'claimed') await at.settle('a', state)
      })

      test('I2: is a mismatch for another fingerprint', async () => {
        const other = { caller: callerOf('alice'), fingerprint: fingerprintOf('other') }
        expect(await at.claim('b', { ...other, rerun: true })).toEqual({ state: 'mismatch' })
      })

      test.each([callerOf('mallory'), callerOf('')])(
        'I4: is a stranger’s for another caller, whatever it asks for',
        async (caller) => {
          for (const fingerprint of [fingerprintOf('same'), fingerprintOf('other')])
            expect(await at.claim('b', { caller, fingerprint, rerun: true })).toEqual({
              state: 'stranger',
            })
          expect(await at.store.read(at.subject)).toMatchObject({ state, attempt: 1 })
        },
      )

      test('I11: says the same when it is inspected', async () => {
        const record = await at.store.read(at.subject)
        expect(record).toMatchObject({ ...at.subject, state, attempt: 1 })
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
      names.slice(1).map((key) => ({ scope, key: `${key} ${at.subject.key}` })),
    )
    for (const one of subjects)
      expect(await at.store.claim(one, claimOf('a'))).toMatchObject({ state: 'started' })
    for (const one of subjects) {
      await at.store.settle(one, ownerOf('a'), { state: 'absent' }, lifetimes)
      expect(await at.store.read(one)).toBeUndefined()
    }
  })

  test('I13: a claim that is sent again is the same grant', async () => {
    const first = await at.grant('a')
    await at.advance(10_000)
    expect(await at.claim('a')).toEqual(first)
    await at.advance(LEASE_MS + 1000)
    expect(await at.claim('a')).toEqual(first)
    expect(await at.claim('b')).toMatchObject({ state: 'in-progress' })
  })

  test('I13: a claim that arrives after its own withdrawal takes no effect', async () => {
    expect(await at.settle('a', 'absent')).toBe('settled')
    expect(await at.store.read(at.subject)).toBeUndefined()
    // Nothing overtakes anything inside a process.
    if (at.store.remote) expect(await at.claim('a')).toEqual({ state: 'withdrawn' })
    expect(await at.claim('b')).toMatchObject({ state: 'started' })
    expect(await at.settle('a', 'absent')).toBe('refused')
    expect(await at.store.read(at.subject)).toMatchObject({ state: 'claimed' })
  })

  test('I12: a renewed lease holds as long again, for its owner alone', async () => {
    await at.claim('a')
    for (let renewals = 0; renewals < 5; renewals++) {
      await at.advance(LEASE_MS - 5000)
      expect(await at.store.renew(at.subject, ownerOf('b'), lifetimes)).toBe(false)
      expect(await at.store.renew(at.subject, ownerOf('a'), lifetimes)).toBe(true)
    }
    const reply = await at.claim('b')
    if (reply.state !== 'in-progress') throw new Error(reply.state)
    expect(reply.leaseLeftMs).toSatisfy(near(LEASE_MS))
    await at.advance(LEASE_MS + 1000)
    expect(await at.store.renew(at.subject, ownerOf('a'), lifetimes)).toBe(false)
    expect((await at.store.read(at.subject))?.expiresInMs).toSatisfy(near(TTL_MS - 1000))
  })

  test.each(['completed', 'tombstone', 'absent', 'unknown'] as const)(
    'I12: a claim that was settled as %s is not renewed',
    async (state) => {
      await at.claim('a')
      await at.settle('a', state)
      expect(await at.store.renew(at.subject, ownerOf('a'), lifetimes)).toBe(false)
      expect((await at.store.read(at.subject))?.state).toBe(state === 'absent' ? undefined : state)
    },
  )
}
