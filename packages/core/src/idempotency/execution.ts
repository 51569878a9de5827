import { ConfigurationError, TransactionNotCommittedError } from '../errors.ts'
import { emit, hashKey } from '../events.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { Renewal } from '../resilience/renewal.ts'
import { retryUntil } from '../resilience/retry.ts'
import type { LateSettlementEvent } from './event.ts'
import type { Execution, ExecutionTransaction } from './idempotency.ts'
import { openTransaction } from './opening.ts'
import type { StoredResponse, Tombstone } from './record.ts'
import { checkResponse } from './response-check.ts'
import type { Lifetimes, Settlement, SettleReply, Subject } from './store.ts'

/** What an execution needs to know of its claim. */
export interface Grant {
  readonly store: GuardedPort<'idempotency'>
  readonly subject: Subject
  readonly owner: string
  readonly attempt: number
  readonly fence: number
  readonly lifetimes: Lifetimes
  readonly maxRunMs: number
  readonly transactional: boolean
  /** Just before the claim was sent, by the monotonic clock. */
  readonly startedAt: number
}

/** A claim that was granted, until it is settled. */
export class StoredExecution implements Execution {
  readonly attempt: number
  readonly fence: number
  readonly #grant: Grant
  readonly #renewal: Renewal

  constructor(grant: Grant) {
    const { store, subject, owner, lifetimes, startedAt, maxRunMs } = grant
    this.attempt = grant.attempt
    this.fence = grant.fence
    this.#grant = grant
    this.#renewal = new Renewal({
      startedAt,
      leaseMs: lifetimes.leaseMs,
      maxRunMs,
      renew: () => store.ask('renew', (asked) => asked.renew(subject, owner, lifetimes)),
      onLost: (reason) =>
        emit('sluice:idempotency', () => ({ type: 'lease-lost', ...this.#about(), reason })),
    })
  }

  get signal(): AbortSignal {
    return this.#renewal.signal
  }

  async complete(response: StoredResponse): Promise<'settled' | 'refused'> {
    checkResponse('complete', response)
    return this.#settle({ state: 'completed', response })
  }

  bury(tombstone: Tombstone = {}): Promise<'settled' | 'refused'> {
    return this.#settle({ state: 'tombstone', tombstone })
  }

  async release(): Promise<void> {
    await this.#settle({ state: 'absent' })
  }

  async abandon(): Promise<void> {
    await this.#settle({ state: 'unknown' })
  }

  async transaction(): Promise<ExecutionTransaction> {
    const { store, subject, owner, lifetimes, transactional } = this.#grant
    if (!transactional) throw notTransactional()
    const opened = await openTransaction(store)
    return {
      client: opened.client,
      rollback: (busy = false) => opened.rollback(busy),
      commit: async (response, tombstone = {}) => {
        if (response) checkResponse('commit', response)
        this.#renewal.stop()
        const settlement: Settlement = response
          ? { state: 'completed', response }
          : { state: 'tombstone', tombstone }
        const commit = opened.commit(subject, owner, settlement, lifetimes)
        const reply = await commit.catch(async (error) => {
          // By token: the store refuses it if the commit has got through, or still does.
          await this.release().catch(() => {})
          throw new TransactionNotCommittedError('failed', error)
        })
        if (reply === 'refused') throw new TransactionNotCommittedError('lease-lost')
      },
    }
  }

  async #settle(settlement: Settlement): Promise<'settled' | 'refused'> {
    this.#renewal.stop()
    try {
      return this.#report(settlement, await this.#send(settlement))
    } catch (error) {
      const about = this.#about()
      const { state } = settlement
      emit('sluice:idempotency', () => ({
        type: 'settlement-delayed',
        ...about,
        settlement: state,
        error,
      }))
      void this.#retry(settlement)
      throw error
    }
  }

  #send(settlement: Settlement): Promise<SettleReply> {
    const { store, subject, owner, lifetimes } = this.#grant
    return store.ask('settle', (asked) => asked.settle(subject, owner, settlement, lifetimes))
  }

  /** After the lease it would be a late settlement of what others were told is unknown: no more attempts then. */
  async #retry(settlement: Settlement): Promise<void> {
    const reply = await retryUntil(this.#renewal.endsAt, () => this.#send(settlement))
    emit('sluice:idempotency', () => ({
      type: 'settlement-retried',
      ...this.#about(),
      settlement: settlement.state,
      outcome: reply ? outcomeOf(reply) : 'lost',
    }))
  }

  #report(settlement: Settlement, reply: SettleReply): 'settled' | 'refused' {
    const outcome = outcomeOf(reply)
    if (reply !== 'settled')
      emit('sluice:idempotency', () => ({
        type: 'late-settlement',
        ...this.#about(),
        settlement: settlement.state,
        outcome,
      }))
    return outcome
  }

  #about(): Pick<LateSettlementEvent, 'keyHash' | 'attempt' | 'fence'> {
    return { keyHash: hashSubject(this.#grant.subject), attempt: this.attempt, fence: this.fence }
  }
}

/** How events name a subject. */
export function hashSubject({ scope, key }: Subject): string {
  return hashKey(`${scope.length}:${scope}${key}`)
}

function notTransactional(): ConfigurationError {
  const expected = 'true, with a postgresStore, for transaction()'
  return new ConfigurationError('idempotency', 'transactional', false, expected)
}

function outcomeOf(reply: SettleReply): 'settled' | 'refused' {
  return reply === 'refused' ? 'refused' : 'settled'
}
