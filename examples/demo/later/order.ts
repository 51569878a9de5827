/** One run of an order's task, in milliseconds of the play. */
export interface Run {
  readonly worker: number
  readonly fromMs: number
  toMs?: number
  /** Its worker went away in the middle. */
  broken?: true
}

/** An order that is not paid at once, and what became of it. */
export interface Order {
  readonly id: string
  readonly placedMs: number
  readonly runs: Run[]
  endedMs?: number
  end?: 'paid' | 'expired'
}
