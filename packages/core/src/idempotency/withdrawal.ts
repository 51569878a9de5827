import { emit } from '../events.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { retryUntil } from '../resilience/retry.ts'
import { hashSubject } from './execution.ts'
import type { ClaimReply, Lifetimes, Subject } from './store.ts'

/**
 * Undoes, in the background, a claim of which nobody knows whether it took effect: its caller was told that it may
 * not run. By token, so that nobody else's claim is touched; until the store confirms it, or for as long as the claim
 * could be in anyone's way. A claim still under way when the release arrives is refused by the store; one that gets
 * through nevertheless says so when its reply comes late, and is undone then.
 */
export function withdraw(
  store: GuardedPort<'idempotency'>,
  subject: Subject,
  owner: string,
  lifetimes: Lifetimes,
  underWay: Promise<ClaimReply>,
): void {
  const undo = () => void undoClaim(store, subject, owner, lifetimes)
  undo()
  underWay.then(
    ({ state }) => {
      if (state === 'started') undo()
    },
    () => {}, // whoever asked knows
  )
}

async function undoClaim(
  store: GuardedPort<'idempotency'>,
  subject: Subject,
  owner: string,
  lifetimes: Lifetimes,
): Promise<void> {
  const { leaseMs, resultTtlMs } = lifetimes
  // A claim that arrives late ends late: not the lease, but the time for which an outcome is held bounds the attempts.
  const reply = await retryUntil(performance.now() + leaseMs + resultTtlMs, () =>
    store.ask('withdraw', (asked) => asked.settle(subject, owner, { state: 'absent' }, lifetimes)),
  )
  emit('sluice:idempotency', () => ({
    type: 'claim-withdrawn',
    keyHash: hashSubject(subject),
    outcome: reply ? (reply === 'refused' ? 'not-held' : 'released') : 'lost',
  }))
}
