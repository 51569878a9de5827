import { idempotency, type RedisClient, redisStore } from '@sluice/express'
import { migrate, type PostgresPool, postgresStore } from '@sluice/postgres'
import express from 'express'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { Site } from '../../support/http.ts'
import { type Database, databaseKinds } from '../../support/postgres-databases.ts'
import { RedisServer } from '../../support/redis-server.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('Redis before $name', ({ missing, open }) => {
  let database: Database
  let server: RedisServer
  let redis: Redis
  let site: Site
  /** How often the database was asked. */
  let questions = 0
  const runs = new Map<string, number>()

  beforeAll(async () => {
    if (missing) return
    database = await open()
    await migrate(database.sluice)
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    server = await RedisServer.start()
    redis = new Redis(server.port, '127.0.0.1')
    redis.on('error', () => {})
    site = await Site.serve(app())
    runs.clear()
  })

  afterEach(async () => {
    if (!database) return
    await site[Symbol.asyncDispose]()
    redis.disconnect()
    await server[Symbol.asyncDispose]()
    await database.sluice.query('TRUNCATE sluice.records')
  })

  afterAll(async () => {
    if (!database) return
    await database[Symbol.asyncDispose]()
  })

  test('P5: repeats are answered by Redis alone', async () => {
    const first = await order('a')
    await eventually(async () => {
      const asked = questions
      expect(await order('a')).toEqual({ ...first, replayed: true })
      expect(questions).toBe(asked)
    })
    expect(runs.get('a')).toBe(1)
  })

  test('P5: a Redis that was flushed costs a question more, and no second run', async () => {
    const first = await order('a')
    await server.command('FLUSHALL')
    expect(await order('a')).toEqual({ ...first, replayed: true })
    await eventually(async () => {
      const asked = questions
      await order('a')
      expect(questions).toBe(asked)
    })
    expect(runs.get('a')).toBe(1)
  })

  test('P5: while Redis is down requests are answered, run once, and replayed', async () => {
    const first = await order('a')
    await server.stop()
    expect(await order('a')).toEqual({ ...first, replayed: true })
    const second = await order('b')
    expect(second).toMatchObject({ status: 201, replayed: false })
    expect(await order('b')).toEqual({ ...second, replayed: true })
    expect([...runs.values()]).toEqual([1, 1])
  })

  test.each([
    ['is flushed', () => server.command('FLUSHALL')],
    ['dies', () => server.stop()],
    ['is started again', () => server.restart()],
  ])('P5: copies at once run once, while Redis %s', async (_, happen) => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    const copies = keys.flatMap((key) => [key, key, key, key])
    const happening = happen()
    const answers = await Promise.all(copies.map(order))
    await happening
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
    for (const key of keys) {
      const again = await order(key)
      expect(again).toMatchObject({ status: 201, replayed: true })
      const results = answers.filter(({ status }, index) => status === 201 && copies[index] === key)
      expect(new Set([...results, again].map(({ body }) => body)).size).toBe(1)
      expect(runs.get(key), key).toBe(1)
    }
  })

  function app() {
    const counted: PostgresPool = {
      query: (text, values) => {
        questions++
        return database.sluice.query(text, values)
      },
      connect: () => database.sluice.connect(),
    }
    const protect = idempotency({
      store: redisStore(redis as RedisClient),
      authority: postgresStore(counted),
      timeoutMs: 4000,
    })
    return express()
      .use(express.json(), protect)
      .post('/orders', (req, res) => {
        const key = req.idempotency?.key ?? ''
        runs.set(key, (runs.get(key) ?? 0) + 1)
        res.status(201).json({ key, run: Math.random() })
      })
  }

  async function order(key: string) {
    const { status, headers, body } = await site.ask('/orders', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `"${key}"` },
      body: '{}',
    })
    return { status, body, replayed: headers['idempotency-replayed'] === 'true' }
  }
})
