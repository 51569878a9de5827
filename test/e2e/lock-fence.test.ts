import { once } from 'node:events'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Turn } from './idempotency/turns.ts'
import { guards } from './lock/apps.ts'
import { places } from './lock/matrix.ts'
import { watcher } from './lock/stage.ts'

let database: PGlite

beforeAll(async () => {
  database = await PGlite.create()
  await database.exec('CREATE TABLE orders (id int PRIMARY KEY, paid_by text, last_fence bigint)')
}, 60_000) // it takes seconds of computing to start

afterAll(() => database.close())

const matrix = places.flatMap(([place, framework, backend]) =>
  guards.map((guard) => [`${guard} in ${place}`, guard, framework, backend] as const),
)

describe.concurrent.each(matrix)('%s', (name, guard, framework, backend) => {
  it('L16, L9: a write that comes when the lease is over is refused by its fence', async () => {
    const id = matrix.findIndex(([each]) => each === name)
    await database.query('INSERT INTO orders VALUES ($1, NULL, 0)', [id])
    await using open = backend.open()
    const { isFree } = watcher(open.store)
    await isFree('order:7') // connects
    await using app = await framework.serve({
      routes: {
        '/': {
          guard,
          key: 'order:7',
          store: open.store,
          timeoutMs: 10_000, // the database computes in this process
          leaseMs: 1000,
          renew: false,
          handler: async (turn) => {
            if (turn.path === '/slow') await untilOver(turn)
            const { affectedRows } = await database.query(
              'UPDATE orders SET paid_by = $1, last_fence = $2 WHERE id = $3 AND last_fence < $2',
              [turn.path, turn.lease?.fence, id],
            )
            turn.status(affectedRows === 1 ? 200 : 409)
            turn.json({})
          },
        },
      },
    })

    /** It does not look at its signal, as code that is paused cannot: meanwhile another request pays. */
    async function untilOver(turn: Turn): Promise<void> {
      if (turn.lease && !turn.lease.signal.aborted) await once(turn.lease.signal, 'abort')
      await isFree('order:7')
      expect(turn.lease?.remainingMs()).toBeLessThanOrEqual(0)
      expect((await app.site.ask('/quick')).status).toBe(200)
    }

    expect((await app.site.ask('/slow')).status).toBe(409)
    const { rows } = await database.query('SELECT paid_by FROM orders WHERE id = $1', [id])
    expect(rows).toEqual([{ paid_by: '/quick' }])
    expect(app.errors).toEqual([])
  })
})
