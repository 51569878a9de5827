import type { IdempotencyStore, Store } from '@sluice/core'
import { inject } from 'vitest'
import { withAuthority } from '../../packages/core/src/idempotency/with-authority.ts'
import { databaseKinds } from '../support/postgres-databases.ts'
import { lifetimes, ownerOf, type Place } from './idempotency-store/key-under-test.ts'
import { idempotencyStoreContract, memoryPlace, recordsOf } from './idempotency-store.ts'
import { postgresPlace } from './postgres-place.ts'
import { ioredisPlace } from './redis-places.ts'

const [embedded] = await databaseKinds()

idempotencyStoreContract('P5: memory before memory', () => before(memoryPlace(), memoryPlace()))

idempotencyStoreContract('P5: Redis before PostgreSQL', async () => {
  if (!embedded) throw new Error('there is always an embedded database')
  return before(recordsOf(ioredisPlace(inject('redisPort'))), postgresPlace(await embedded.open()))
})

idempotencyStoreContract('P5: a store that forgets everything at once, before memory', async () => {
  let fresh = await memoryPlace()
  const forgetful = async (): Promise<IdempotencyStore> => {
    fresh = await memoryPlace()
    return fresh.store
  }
  return before(Promise.resolve(everyCall(fresh, forgetful)), memoryPlace())
})

idempotencyStoreContract('P5: a store that is down, before memory', async () => {
  const down = () => Promise.reject<IdempotencyStore>(new Error('down'))
  return before(Promise.resolve(everyCall(await memoryPlace(), down)), memoryPlace())
})

/** Two places as one, whose clocks go together. */
async function before(fastPlace: Promise<Place>, authorityPlace: Promise<Place>): Promise<Place> {
  const places = [await fastPlace, await authorityPlace] as const
  const [fast, authority] = places.map(({ store }) => ({ idempotency: store }) as Store) as [
    Store,
    Store,
  ]
  return {
    store: withAuthority(fast, authority, 20_000).idempotency as IdempotencyStore,
    advance: async (ms) => {
      await everythingTold(places[0].store)
      for (const place of places) await place.advance(ms)
    },
    async [Symbol.asyncDispose]() {
      for (const place of places) await place[Symbol.asyncDispose]()
    },
  }
}

/**
 * What the fast store is told in the background waits for the end of the turn, and so does this settlement of nothing
 * behind it. A clock that moved before would give the result a longer life than its authority's.
 */
async function everythingTold(fast: IdempotencyStore): Promise<void> {
  const nothing = { scope: 'nobody', key: 'nothing' }
  await fast.settle(nothing, ownerOf('nobody'), { state: 'unknown' }, lifetimes).catch(() => {})
}

/** A place whose store is chosen anew for every call. */
function everyCall(place: Place, choose: () => Promise<IdempotencyStore>): Place {
  return {
    ...place,
    store: {
      remote: true,
      claim: async (...args) => (await choose()).claim(...args),
      renew: async (...args) => (await choose()).renew(...args),
      settle: async (...args) => (await choose()).settle(...args),
      read: async (...args) => (await choose()).read(...args),
      unknown: async (...args) => (await choose()).unknown(...args),
      watch: (subject) => place.store.watch(subject),
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}
