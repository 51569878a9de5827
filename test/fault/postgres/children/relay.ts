import { outbox } from '@sluice/postgres'
import { Pool } from 'pg'
import { answerParent } from '../../../support/answer-parent.ts'

/** Delivers the messages of an outbox into a table, until it is killed. */
const pool = new Pool({ connectionString: process.argv[2] })
pool.on('error', () => {}) // the server may die under it
const box = outbox(pool, {
  publish: ({ id, aggregate }) =>
    pool.query('INSERT INTO deliveries (message, aggregate) VALUES ($1, $2)', [id, aggregate]),
})
const relay = box.relay({ pollMs: 20, leaseMs: 1000, concurrency: 3 })

answerParent(() => relay.close())
