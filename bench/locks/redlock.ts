import Redlock, { type Lock } from 'redlock'
import { connect } from '../redis-client.ts'
import { LEASE_MS } from './lease.ts'
import { serveLocks } from './locks.ts'

const RETRY_MS = 200 // its default pause, jitter and all, as often as it takes

const client = await connect()
const redlock = new Redlock([client])
serveLocks<Lock>(client, {
  acquire: (key, waitMs) => redlock.acquire([key], LEASE_MS, { retryCount: waitMs / RETRY_MS }),
  release: (lock) => lock.release(),
})
