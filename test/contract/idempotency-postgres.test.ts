import { test } from 'vitest'
import { databaseKinds } from '../support/postgres-databases.ts'
import { idempotencyStoreContract } from './idempotency-store.ts'
import { postgresPlace } from './postgres-place.ts'

for (const { name, missing, open } of await databaseKinds())
  if (missing === undefined)
    idempotencyStoreContract(`P3, P7: ${name}`, async () => postgresPlace(await open()))
  else test(`P3, P7: ${name}`, ({ skip }) => skip(missing))
