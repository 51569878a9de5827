/** How a payment ended. `late`: somebody with a higher fence had written before, so its write was refused. */
export type End = 'paid' | 'found paid' | 'late'

/** One payment of the order: when it was sent, had the lock, and ended, in milliseconds of the play. */
export interface Payment {
  readonly number: number
  /** The process that runs it. */
  readonly till: number
  readonly sentMs: number
  heldMs?: number
  frozenMs?: number
  endedMs?: number
  fence?: number
  end?: End
}
