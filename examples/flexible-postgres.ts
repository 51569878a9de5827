import { PGlite } from '@electric-sql/pglite'
// #region app
import { fromFlexible, rateLimit } from '@sluice/express'
import express from 'express'
import { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
// A server where DATABASE_URL names one, else a database in this process.
const url = process.env['DATABASE_URL']
const database: Database = url ? new Pool({ connectionString: url }) : await embedded()

const quota = { points: 3, duration: 60 }
const counter = await new Promise<RateLimiterPostgres>((resolve, reject) => {
  // The library makes its table, and calls back when that is there.
  const made: RateLimiterPostgres = new RateLimiterPostgres(
    { ...quota, storeClient: database, storeType: 'pool', tableName: 'sluice_example' },
    (error) => (error ? reject(error) : resolve(made)),
  )
})
const limiter = fromFlexible(counter, {
  name: 'per-minute',
  onStoreFailure: fromFlexible(new RateLimiterMemory(quota)), // while the database is away
})

const app = express()
app.use(rateLimit({ limiter, key: (req) => req.get('X-Api-Key') ?? 'anonymous' }))
// #endregion
app.get('/', (_req, res) => {
  res.send('hello')
})

await limiter.reset('ann') // a server remembers earlier runs
await tryOut(app, async (ask) => {
  const asAnn = { headers: { 'X-Api-Key': 'ann' } }
  for (let request = 0; request < 4; request++) await ask('/', asAnn)
  const { rows } = await database.query({ text: 'SELECT key, points FROM sluice_example' })
  console.log('The table says:', rows)
  await limiter.reset('ann')
  console.log(await ask('/', asAnn))
})
await database.end()

/** What the library asks of a pool of `pg`, and what this program asks too. */
interface Database {
  query(query: { text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>
  end(): Promise<void>
}

async function embedded(): Promise<Database> {
  const pglite = await PGlite.create()
  return {
    query: ({ text, values }) => pglite.query(text, values),
    end: () => pglite.close(),
  }
}
