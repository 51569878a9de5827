import { PGlite } from '@electric-sql/pglite'
import { createIdempotency } from '@sluice/core'
import {
  cleanup,
  guardFence,
  migrate,
  migrationSql,
  pglitePool,
  postgresStore,
} from '@sluice/postgres'

const database = await PGlite.create()
const pool = pglitePool(database)
await migrate(pool)
const client = await pool.connect()
await guardFence(client, 'order:7', 1)
client.release()
const idempotency = createIdempotency({ store: postgresStore(pool), timeoutMs: 10_000 })
const begun = await idempotency.begin({ key: 'a', fingerprint: 'b' })
await begun.execution.complete({ status: 200, headers: [], body: 'done' })
const again = await idempotency.begin({ key: 'a', fingerprint: 'b' })
console.log(again.state, await cleanup(pool), migrationSql().includes('CREATE SCHEMA'))
await database.close()
