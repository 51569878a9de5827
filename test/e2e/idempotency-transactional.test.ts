import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { databaseKinds } from '../support/postgres-databases.ts'
import { frameworks } from './idempotency/apps.ts'
import { answerTests } from './transactional/answers.ts'
import { clientTests } from './transactional/client.ts'
import { commitTests, companyTests } from './transactional/commits.ts'
import { TransactionalUnderTest } from './transactional/transactional-under-test.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('transactional on $name', ({ name, missing, open }) => {
  const at = new TransactionalUnderTest()

  beforeAll(async () => {
    if (!missing) await at.open(await open())
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    await at.renew()
  })

  afterAll(() => at.close())

  describe.each(frameworks)('$name', (framework) => answerTests(at, framework))
  clientTests(at)
  commitTests(at)
  if (name !== 'PGlite') companyTests(at) // whoever has PGlite's connection has it alone
})
