import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

const RELEASE = `
  if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  return 0`

const client = (await connect()) as Redis & Commands
client.defineCommand('compareAndDelete', { numberOfKeys: 1, lua: RELEASE })
interface Commands {
  compareAndDelete(key: string, token: string): Promise<number>
}

serveLocks<{ key: string; token: string }>(client, {
  acquire: async (key) => {
    const token = randomUUID()
    if ((await client.set(key, token, 'PX', LEASE_MS, 'NX')) !== 'OK') throw new Error('held')
    return { key, token }
  },
  release: ({ key, token }) => client.compareAndDelete(key, token),
})
