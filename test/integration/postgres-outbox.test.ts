import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  type DeadMessage,
  migrate,
  type Outbox,
  type OutboxMessage,
  type OutboxOptions,
  outbox,
  type PostgresClient,
  type PostgresPool,
  type Relay,
  type RelayOptions,
} from '@sluice/postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Database, databaseKinds } from '../support/postgres-databases.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('outbox on $name', ({ name, missing, open }) => {
  let database: Database
  let pool: PostgresPool
  let schema: string
  const relays: Relay[] = []
  const published: OutboxMessage[] = []

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    schema = `test_${randomUUID().replaceAll('-', '')}`
    await migrate(pool, { schema })
    published.length = 0
  })

  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.close()))
    if (pool) await pool.query(`DROP SCHEMA "${schema}" CASCADE`)
  })

  afterAll(() => database?.[Symbol.asyncDispose]())

  test('P6, P7: delivers what was committed, in order for each aggregate, and nothing else', async () => {
    const box = make({ publish: keep })
    await add(box, 'a', 1, 2, 3)
    await add(box, 'b', 1)
    await inTransaction(async (client) => {
      await box.add(client, { aggregate: 'a', type: 't', payload: 'rolled back' })
      throw new Error('changed my mind')
    }).catch(() => {})
    await add(box, 'a', 4)
    start(box)
    await eventually(() => published.length === 5)
    expect(payloads('a')).toEqual([1, 2, 3, 4])
    expect(payloads('b')).toEqual([1])
    expect(published[0]).toMatchObject({ type: 't', attempt: 1, addedAt: expect.any(Date) })
  })

  test('P6: payloads come out as they were', async () => {
    const box = make({ publish: keep })
    const payload = { b: 1e21, a: ['\0', '\ud83d', '🚀', null, { '': 0.1 }], big: '9'.repeat(50) }
    await add(box, 'ü '.repeat(100), payload)
    start(box)
    await eventually(() => published.length === 1)
    expect(published[0]?.payload).toEqual(payload)
  })

  test('P6: of several relays one has an aggregate at a time', async () => {
    const busy = new Map<string, number>()
    let most = 0
    const box = make({
      publish: async (message) => {
        const before = busy.get(message.aggregate) ?? 0
        busy.set(message.aggregate, before + 1)
        most = Math.max(most, before + 1)
        await pool.query('SELECT 1')
        published.push(message)
        busy.set(message.aggregate, before)
      },
    })
    for (let index = 0; index < 5; index++) start(box, { concurrency: 3 })
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const aggregates = ['a', 'b', 'c', 'd']
    await Promise.all(aggregates.map((aggregate) => add(box, aggregate, ...numbers)))
    await eventually(() => published.length >= 80, { withinMs: 15_000 })
    expect(most).toBe(1)
    for (const aggregate of aggregates) expect(payloads(aggregate)).toEqual(numbers)
  })

  test('P6: what fails is tried again, and holds back its aggregate alone', async () => {
    const box = make({
      backoff: () => 30,
      publish: (message) => {
        if (message.payload === 'hard' && message.attempt < 3) throw new Error('not yet')
        published.push(message)
      },
    })
    await add(box, 'a', 'hard', 'after')
    await add(box, 'b', 'other')
    start(box)
    await eventually(() => published.length === 3)
    expect(payloads('a')).toEqual(['hard', 'after'])
    expect(published.map(({ payload }) => payload)[0]).toBe('other')
    expect(published.find(({ payload }) => payload === 'hard')?.attempt).toBe(3)
  })

  test('P6: a message that fails too often is dead, and holds its aggregate until it is redriven', async () => {
    let broken = true
    const box = make({
      maxAttempts: 2,
      backoff: () => 1,
      publish: (message) => {
        if (broken && message.payload === 'bad') throw new TypeError('cannot')
        published.push(message)
      },
    })
    await add(box, 'a', 'bad', 'after')
    await add(box, 'b', 'other')
    start(box)
    const [dead] = await eventually(() => deadOf(box, 1))
    expect(dead).toMatchObject({ aggregate: 'a', type: 't', payload: 'bad', attempts: 2 })
    expect(dead?.error).toEqual({ name: 'TypeError', message: 'cannot' })
    expect(Number(dead?.diedAt)).toBeGreaterThanOrEqual(Number(dead?.addedAt))
    await add(box, 'b', 'another')
    await eventually(() => published.length === 2)
    expect(payloads('a')).toEqual([])
    broken = false
    expect(await box.dead.redrive(String(dead?.id))).toBe(true)
    expect(await box.dead.redrive(String(dead?.id))).toBe(false)
    await eventually(() => published.length === 4)
    expect(payloads('a')).toEqual(['bad', 'after'])
    expect(published.find(({ payload }) => payload === 'bad')?.attempt).toBe(1)
  })

  test('P6: a dead message that is discarded lets the rest of its aggregate go on', async () => {
    const box = make({
      maxAttempts: 1,
      publish: (message) => {
        if (message.payload === 'bad') throw new Error('cannot')
        published.push(message)
      },
    })
    await add(box, 'a', 'bad', 'after')
    start(box)
    const [dead] = await eventually(() => deadOf(box, 1))
    expect(await box.dead.discard(String(dead?.id))).toBe(true)
    await eventually(() => published.length === 1)
    expect(payloads('a')).toEqual(['after'])
    expect(await box.dead.discard(String(dead?.id))).toBe(false)
    expect(await deadOf(box, 0)).toEqual([])
  })

  test('P6: a message whose relays fall silent is tried so often, and then dead', async () => {
    const attempts: number[] = []
    const box = make({
      maxAttempts: 2,
      publish: ({ attempt }) => {
        attempts.push(attempt)
        return new Promise(() => {})
      },
    })
    await add(box, 'a', 'stuck')
    start(box, { leaseMs: 100, maxRunMs: 100 })
    const [dead] = await eventually(() => deadOf(box, 1))
    expect(attempts).toEqual([1, 2])
    expect(dead).toMatchObject({ attempts: 2, error: { name: 'RelayLost' } })
  })

  test('P6: a delivery that takes longer than its lease keeps it', async () => {
    const box = make({
      publish: async (message) => {
        published.push(message)
        // By the database's clock, which decides about the lease.
        await eventually(async () => {
          const { rows } = await pool.query(
            `SELECT now() - added_at > interval '1 s' AS over FROM "${schema}".outbox`,
          )
          return rows[0]?.['over'] === true
        })
      },
    })
    await add(box, 'a', 'slow', 'after')
    start(box, { leaseMs: 300 })
    start(box, { leaseMs: 300 })
    await eventually(() => published.length === 2)
    expect(payloads('a')).toEqual(['slow', 'after'])
  })

  test('P6: a relay that lost a message says nothing of it any more, and takes none behind it', async () => {
    const over: string[] = []
    const box = make({
      publish: async ({ payload }) => {
        await pool.query(
          `UPDATE "${schema}".outbox SET claimed_by = 'another', due_at = now() + interval '1 h'`,
        )
        over.push(String(payload))
      },
    })
    await add(box, 'a', 'lost', 'behind')
    const relay = start(box)
    await eventually(() => over.length === 1)
    await relay.close()
    expect(over).toEqual(['lost'])
    expect(await counts()).toEqual({ delivered: 0, pending: 2 })
  })

  test('P6: closing waits for what is being published, and no longer than its grace', async () => {
    let finish = (): void => {}
    const signals: AbortSignal[] = []
    const box = make({
      publish: (_, signal) => {
        signals.push(signal)
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
    })
    await add(box, 'a', 1, 2)
    const relay = start(box)
    await eventually(() => signals.length === 1)
    const closed = relay.close()
    finish()
    await closed
    expect(await counts()).toEqual({ delivered: 1, pending: 1 })
    const hasty = start(box)
    await eventually(() => signals.length === 2)
    const aborted = once(signals[1] as AbortSignal, 'abort')
    await hasty.close({ graceMs: 1 })
    await aborted
    expect(await counts()).toEqual({ delivered: 1, pending: 1 })
  })

  test('P6: a delay queue is scheduled a task of the same id', async () => {
    const scheduled: unknown[] = []
    const schedule = async (id: string, { payload }: OutboxMessage, when: object) => {
      scheduled.push({ id, payload, when })
      return 'scheduled'
    }
    const box = make({ publish: { schedule } })
    const [id] = await add(box, 'a', 'mail')
    start(box)
    await eventually(() => scheduled.length === 1)
    expect(scheduled).toEqual([{ id, payload: 'mail', when: { delayMs: 0 } }])
  })

  test('P6: cleanup removes what was delivered long ago, and nothing else', async () => {
    const box = make({ publish: keep })
    await add(box, 'a', 1, 2, 3)
    start(box)
    await eventually(async () => (await counts()).delivered === 3)
    await Promise.all(relays.splice(0).map((relay) => relay.close()))
    await add(box, 'a', 4)
    expect(await box.cleanup({ olderThanMs: 60_000 })).toBe(0)
    expect(await box.cleanup({ olderThanMs: 0, batchSize: 2 })).toBe(3)
    expect(await counts()).toEqual({ delivered: 0, pending: 1 })
  })

  test('P6: what is no message is refused, and the transaction goes on', async () => {
    const box = make({ publish: keep })
    await inTransaction(async (client) => {
      for (const wrong of [{ aggregate: '' }, { type: 'x'.repeat(256) }, { payload: undefined }])
        await expect(
          box.add(client, { aggregate: 'a', type: 't', payload: 1, ...wrong }),
        ).rejects.toThrow(`\`${Object.keys(wrong)[0]}\` must be`)
      await box.add(client, { aggregate: 'a', type: 't', payload: 1 })
    })
    expect(await counts()).toEqual({ delivered: 0, pending: 1 })
  })

  const needsTwoConnections = name === 'PGlite' ? () => {} : test
  needsTwoConnections(
    'P6: who adds for an aggregate waits for one who did before, so its order is that of the commits',
    async () => {
      const box = make({ publish: keep })
      const first = await pool.connect()
      const second = await pool.connect()
      for (const client of [first, second]) await client.query('BEGIN')
      await box.add(first, { aggregate: 'a', type: 't', payload: 1 })
      await box.add(second, { aggregate: 'b', type: 't', payload: 1 })
      const late = box.add(second, { aggregate: 'a', type: 't', payload: 2 })
      await eventually(async () => {
        const { rows } = await pool.query('SELECT 1 FROM pg_locks WHERE NOT granted')
        return rows.length > 0
      })
      await first.query('COMMIT')
      await late
      await second.query('COMMIT')
      first.release()
      second.release()
      start(box)
      await eventually(() => published.length === 3)
      expect(payloads('a')).toEqual([1, 2])
    },
  )

  function make(options: Pick<OutboxOptions, 'publish' | 'maxAttempts' | 'backoff'>): Outbox {
    return outbox(pool, { schema, ...options })
  }

  function start(box: Outbox, options: RelayOptions = {}): Relay {
    const relay = box.relay({ pollMs: 20, ...options })
    relays.push(relay)
    return relay
  }

  function keep(message: OutboxMessage): void {
    published.push(message)
  }

  async function deadOf(box: Outbox, atLeast: number): Promise<DeadMessage[]> {
    const dead: DeadMessage[] = []
    for await (const message of box.dead.list()) dead.push(message)
    expect(dead.length).toBeGreaterThanOrEqual(atLeast)
    return dead
  }

  function payloads(aggregate: string): unknown[] {
    return published.filter((message) => message.aggregate === aggregate).map((m) => m.payload)
  }

  async function add(box: Outbox, aggregate: string, ...messages: unknown[]): Promise<string[]> {
    const ids: string[] = []
    await inTransaction(async (client) => {
      for (const payload of messages)
        ids.push(await box.add(client, { aggregate, type: 't', payload }))
    })
    return ids
  }

  async function inTransaction(work: (client: PostgresClient) => Promise<void>): Promise<void> {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

  async function counts() {
    const { rows } = await pool.query(
      `SELECT count(delivered_at) AS delivered, count(*) - count(delivered_at) AS pending
       FROM "${schema}".outbox`,
    )
    return { delivered: Number(rows[0]?.['delivered']), pending: Number(rows[0]?.['pending']) }
  }
})
