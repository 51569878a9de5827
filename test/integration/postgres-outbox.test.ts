import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { databaseKinds } from '../support/postgres-databases.ts'
import { deliveryTests, orderTests } from './outbox/delivering.ts'
import { deathTests } from './outbox/dying.ts'
import { OutboxUnderTest } from './outbox/outbox-under-test.ts'
import { relayTests } from './outbox/relaying.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('outbox on $name', ({ name, missing, open }) => {
  const at = new OutboxUnderTest()

  beforeAll(async () => {
    if (!missing) at.open(await open())
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    await at.renew()
  })

  afterEach(() => at.clear())
  afterAll(() => at.close())

  deliveryTests(at)
  deathTests(at)
  relayTests(at)
  if (name !== 'PGlite') orderTests(at)
})
