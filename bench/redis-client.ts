import { Redis } from 'ioredis'
import { readSettings } from './settings.ts'

/** A child's client, with the client's own defaults; its start must not fall into the first round. */
export async function connect(): Promise<Redis> {
  const client = new Redis({ host: '127.0.0.1', port: readSettings().redisPort })
  await client.ping()
  return client
}
