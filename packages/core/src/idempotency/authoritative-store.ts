import type { GuardedPort } from '../resilience/guarded-port.ts'
import type { IdempotencyRecord } from './record.ts'
import type {
  Claim,
  ClaimReply,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  StoreTransaction,
  Subject,
  UnknownPage,
} from './store.ts'
import type { Watch } from './wakeups.ts'

/**
 * A fast store in front of one that decides. The fast one is believed when it brings a result, and in nothing else: it
 * holds no result that the other one had not stored before. So whatever it forgets, or whenever it is away, costs
 * a question more and no second run. What it is told, it is told in the background.
 */
export class AuthoritativeStore implements IdempotencyStore {
  readonly remote: boolean
  readonly begin?: () => Promise<StoreTransaction>
  readonly #fast: GuardedPort<'idempotency'>
  readonly #authority: IdempotencyStore

  constructor(fast: GuardedPort<'idempotency'>, authority: IdempotencyStore) {
    this.remote = authority.remote
    this.#fast = fast
    this.#authority = authority
    const { begin } = authority
    if (begin) this.begin = () => this.#begin(begin.call(authority))
  }

  async claim(subject: Subject, claim: Claim): Promise<ClaimReply> {
    const early = await this.#fast
      .ask('claim', (fast) => fast.claim(subject, claim))
      .catch(() => undefined)
    if (early?.state === 'replay' || early?.state === 'tombstone') return early
    const reply = await this.#authority.claim(subject, claim)
    if (early?.state === 'started' && reply.state !== 'started')
      this.#tell(subject, claim.owner, resultOf(reply), claim)
    return reply
  }

  async renew(subject: Subject, owner: string, lifetimes: Lifetimes): Promise<boolean> {
    const renewed = await this.#authority.renew(subject, owner, lifetimes)
    if (renewed) inBackground(this.#fast.ask('renew', (it) => it.renew(subject, owner, lifetimes)))
    return renewed
  }

  async settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<SettleReply> {
    const reply = await this.#authority.settle(subject, owner, settlement, lifetimes)
    this.#tell(subject, owner, reply === 'refused' ? { state: 'absent' } : settlement, lifetimes)
    return reply
  }

  read(subject: Subject): Promise<IdempotencyRecord | undefined> {
    return this.#authority.read(subject)
  }

  unknown(from: number): Promise<UnknownPage> {
    return this.#authority.unknown(from)
  }

  /** The fast one may have news from other processes. */
  watch(subject: Subject): Watch {
    const watches = [this.#authority.watch(subject), this.#fast.raw.watch(subject)]
    return {
      ready: Promise.all(watches.map(({ ready }) => ready)).then(() => {}),
      changed: () => Promise.race(watches.map((watch) => watch.changed())),
      close: () => {
        for (const watch of watches) watch.close()
      },
    }
  }

  async #begin(opening: Promise<StoreTransaction>): Promise<StoreTransaction> {
    const opened = await opening
    return {
      client: opened.client,
      rollback: (busy) => opened.rollback(busy),
      commit: async (subject, owner, settlement, lifetimes) => {
        const reply = await opened.commit(subject, owner, settlement, lifetimes)
        this.#tell(
          subject,
          owner,
          reply === 'refused' ? { state: 'absent' } : settlement,
          lifetimes,
        )
        return reply
      },
    }
  }

  #tell(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): void {
    const tell = (fast: IdempotencyStore) => fast.settle(subject, owner, settlement, lifetimes)
    inBackground(this.#fast.ask('settle', tell))
  }
}

/** What a claim in the fast store is to become, since it was not granted. */
function resultOf(reply: ClaimReply): Settlement {
  if (reply.state === 'replay') return { state: 'completed', response: reply.response }
  if (reply.state === 'tombstone') return { state: 'tombstone', tombstone: reply.tombstone }
  return { state: 'absent' }
}

/** Whether it is told or not changes nothing but how soon it answers. */
function inBackground(told: Promise<unknown>): void {
  told.catch(() => {})
}
