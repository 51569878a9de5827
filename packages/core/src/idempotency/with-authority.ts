import { ConfigurationError } from '../errors.ts'
import { GuardedPort } from '../resilience/guarded-port.ts'
import type { Store } from '../store.ts'
import { AuthoritativeStore } from './authoritative-store.ts'

/**
 * Both stores as one, behind the circuit of the one that decides. The fast one gets a part of the deadline, so that one
 * that hangs leaves time for the other.
 *
 * @throws ConfigurationError (`configuration`) for a store without idempotency records.
 */
export function withAuthority(store: Store, authority: Store, timeoutMs: number): Store {
  const fast = new GuardedPort(store, 'idempotency', Math.ceil(timeoutMs / 4))
  if (!authority.idempotency)
    throw new ConfigurationError('idempotency', 'authority', authority, 'a store of records')
  return {
    get rateLimit() {
      return store.rateLimit
    },
    idempotency: new AuthoritativeStore(fast, authority.idempotency),
    ...(authority.circuit && { circuit: authority.circuit }),
    close: async () => {},
  }
}
