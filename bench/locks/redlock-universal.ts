import { createLock, IoredisAdapter, type Lock, type LockHandle } from 'redlock-universal'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

const RETRY_MS = 100 // its default pause, as often as it takes

const client = await connect()
const adapter = new IoredisAdapter(client)
serveLocks<{ lock: Lock; handle: LockHandle }>(client, {
  acquire: async (key, waitMs) => {
    const retryAttempts = waitMs / RETRY_MS
    const lock = createLock({ adapter, key, ttl: LEASE_MS, retryAttempts, retryDelay: RETRY_MS })
    return { lock, handle: await lock.acquire() }
  },
  release: ({ lock, handle }) => lock.release(handle),
})
