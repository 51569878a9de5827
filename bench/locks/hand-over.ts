import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

// The bare hand-over, as one writes it by hand: a list of waiters, and a release that makes the next one the holder and
// tells it so. It has no fence, knows nothing of waiters that died, and loses the lock with a message.
const ACQUIRE = `
  if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
  redis.call('RPUSH', KEYS[2], ARGV[1])
  return 0`
const RELEASE = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  local waiter = redis.call('LPOP', KEYS[2])
  if not waiter then return redis.call('DEL', KEYS[1]) end
  redis.call('SET', KEYS[1], waiter, 'PX', ARGV[2])
  redis.call('PUBLISH', string.match(waiter, '^[^/]+'), waiter)
  return 1`

const client = (await connect()) as Redis & Commands
client.defineCommand('takeOrQueue', { numberOfKeys: 2, lua: ACQUIRE })
client.defineCommand('handOver', { numberOfKeys: 2, lua: RELEASE })

interface Commands {
  takeOrQueue(key: string, line: string, token: string, leaseMs: number): Promise<number>
  handOver(key: string, line: string, token: string, leaseMs: number): Promise<number>
}

const channel = randomUUID()
const waiting = new Map<string, () => void>()
let tokens = 0
const subscriber = client.duplicate()
subscriber.on('message', (_channel: string, token: string) => waiting.get(token)?.())
await subscriber.subscribe(channel)

serveLocks<{ key: string; token: string }>(client, {
  acquire: async (key) => {
    const token = `${channel}/${++tokens}`
    const turn = new Promise<void>((resolve) => waiting.set(token, resolve))
    if ((await client.takeOrQueue(key, `${key}:line`, token, LEASE_MS)) === 0) await turn
    waiting.delete(token)
    return { key, token }
  },
  release: ({ key, token }) => client.handOver(key, `${key}:line`, token, LEASE_MS),
})
