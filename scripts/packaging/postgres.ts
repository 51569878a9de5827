import { type RedisClient, redisStore } from '@sluice/core'
import { guardFence, migrate, outbox, postgresStore } from '@sluice/postgres'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

const pool = new Pool()
const mails = outbox(pool, { publish: ({ payload }) => payload })
export const stores = [postgresStore(pool), redisStore(new Redis() as RedisClient)]

export async function pay(): Promise<void> {
  await migrate(pool)
  const client = await pool.connect()
  await guardFence(client, 'order:7', 1)
  await mails.add(client, { aggregate: 'order:7', type: 'paid', payload: {} })
}
