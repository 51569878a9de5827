import { beforeEach, expect, test } from 'vitest'
import { withAuthority } from '../../src/idempotency/with-authority.ts'
import { type Claim, type IdempotencyStore, memoryStore, type Store } from '../../src/index.ts'

const subject = { scope: '', key: 'order' }
const lifetimes = { leaseMs: 1000, resultTtlMs: 60_000 }

let fastNow: number
let authorityNow: number
let fast: Store
let both: IdempotencyStore

beforeEach(() => {
  fastNow = 0
  authorityNow = 0
  fast = memoryStore({ now: () => fastNow })
  const authority = memoryStore({ now: () => authorityNow })
  both = withAuthority(fast, authority, 500).idempotency as IdempotencyStore
})

test('P5: what the authority refused is no result for the fast store either', async () => {
  await both.claim(subject, claimOf('a'))
  authorityNow = 2000
  expect(await both.claim(subject, claimOf('b'))).toMatchObject({ state: 'started', attempt: 2 })
  expect(await both.settle(subject, 'a', completed('of a'), lifetimes)).toBe('refused')
  expect(await both.settle(subject, 'b', completed('of b'), lifetimes)).toBe('settled')
  for (const owner of ['c', 'd'])
    expect(await both.claim(subject, claimOf(owner))).toMatchObject({ response: { body: 'of b' } })
})

test('P5: a claim that the authority does not grant leaves none in the fast store', async () => {
  await both.claim(subject, claimOf('a'))
  await forget()
  expect(await both.claim(subject, claimOf('b'))).toMatchObject({ state: 'in-progress' })
  expect(await fast.idempotency?.read(subject)).toBeUndefined()
})

test('P5: a result that the fast store has lost is there again after a repeat', async () => {
  await both.claim(subject, claimOf('a'))
  await both.settle(subject, 'a', completed('of a'), lifetimes)
  await forget()
  expect(await both.claim(subject, claimOf('b'))).toMatchObject({ response: { body: 'of a' } })
  expect(await fast.idempotency?.read(subject)).toMatchObject({ response: { body: 'of a' } })
})

/** The fast store has forgotten everything: it has expired there. */
async function forget(): Promise<void> {
  fastNow += 10 * lifetimes.resultTtlMs
}

function claimOf(owner: string): Claim {
  const same = { fingerprint: 'same', caller: '', rerun: true, willWait: false }
  return { owner, ...same, ...lifetimes }
}

function completed(body: string) {
  return { state: 'completed', response: { status: 200, headers: [], body } } as const
}
