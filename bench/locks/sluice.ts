import { createLocker, type Lease, redisStore } from '@sluice/core'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

const client = await connect()
const locker = createLocker({ store: redisStore(client), leaseMs: LEASE_MS })
serveLocks<Lease>(client, {
  acquire: (key, waitMs) => locker.acquire(key, { waitMs }),
  release: (lease) => lease.release(),
})
