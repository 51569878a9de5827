import { Mutex } from 'redis-semaphore'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

const client = await connect()
serveLocks<Mutex>(client, {
  acquire: async (key, waitMs) => {
    // A second at the least: with none it does not even try.
    const mutex = new Mutex(client, key, { lockTimeout: LEASE_MS, acquireTimeout: waitMs || 1000 })
    await mutex.acquire()
    return mutex
  },
  release: (mutex) => mutex.release(),
})
