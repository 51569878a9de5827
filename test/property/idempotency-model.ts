import type { ClaimReply, SettleReply } from '@sluice/core'

export const LEASE_MS = 30_000
/** Steps are multiples of 3 s: no sum of them is within a second of where something ends. */
export const TTL_MS = 607_000

export type Ending = 'completed' | 'tombstone' | 'unknown' | 'absent'

/** What must be known of one key to say what every call answers. */
export class Model {
  /** Undefined: absent. */
  state: 'claimed' | Exclude<Ending, 'absent'> | undefined
  now = 0
  attempt = 0
  #owner: number | undefined
  #fingerprint = 0
  #leaseEnd = 0
  #expiry = 0

  advance(ms: number): void {
    this.now += ms
    if (this.state === 'claimed' && this.now >= this.#leaseEnd) this.state = 'unknown'
    if (this.now >= this.#expiry) this.state = undefined
  }

  claim(owner: number, fingerprint: number, rerun: boolean): ClaimReply['state'] {
    if (this.state === undefined) this.attempt = 0
    else if (fingerprint !== this.#fingerprint) return 'mismatch'
    else if (this.state === 'completed') return 'replay'
    else if (this.state === 'tombstone') return 'tombstone'
    else if (this.state === 'claimed') return 'in-progress'
    else if (!rerun) return 'unknown'
    this.attempt++
    this.state = 'claimed'
    this.#owner = owner
    this.#fingerprint = fingerprint
    this.#prolong()
    return 'started'
  }

  renew(owner: number): boolean {
    if (this.state !== 'claimed' || this.#owner !== owner) return false
    this.#prolong()
    return true
  }

  /** Without an owner: the operator. */
  settle(owner: number | undefined, ending: Ending): SettleReply {
    const { state } = this
    if (state === undefined)
      return owner !== undefined && ending === 'absent' ? 'settled' : 'refused'
    if (!this.#maySettle(owner)) return 'refused'
    if (state === 'completed' || state === 'tombstone')
      return state === ending ? 'settled' : 'refused'
    this.state = ending === 'absent' ? undefined : ending
    this.#owner = owner
    this.#expiry = this.now + TTL_MS
    return state === 'unknown' ? 'settled-late' : 'settled'
  }

  #maySettle(owner: number | undefined): boolean {
    return owner === undefined ? this.state === 'unknown' : this.#owner === owner
  }

  #prolong(): void {
    this.#leaseEnd = this.now + LEASE_MS
    this.#expiry = this.#leaseEnd + TTL_MS
  }
}
