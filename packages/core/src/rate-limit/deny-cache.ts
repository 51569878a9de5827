import { detached } from './kept-key.ts'
import type { Standing } from './store.ts'

/**
 * Remembers refusals of a remote store, each by subject and exact cost, until the moment the store named
 * or `denyCacheMs` later, whichever comes first. A caller under attack asks the store a few times a
 * second; a smaller cost, which might fit, and a larger one, which waits longer, are asked for themselves.
 */
export class DenyCache {
  readonly #maxMs: number
  readonly #subjects = new Map<string, Map<number, Refusal>>()
  readonly #epochs = new Uint32Array(EPOCHS)

  constructor(denyCacheMs: number) {
    this.#maxMs = denyCacheMs
  }

  /** The refusal as it stands now, or undefined when the store must be asked. */
  get(subject: string, cost: number): readonly Standing[] | undefined {
    const refusal = this.#subjects.get(subject)?.get(cost)
    if (!refusal) return undefined
    const now = performance.now()
    if (now - refusal.askedAt < refusal.lastsMs)
      return refusal.standings.map((standing) => later(standing, now - refusal.answeredAt))
    this.#forget(subject, cost)
    return undefined
  }

  /** A mark to be taken when the question is sent, so that an answer older than a `clear` is not kept. */
  mark(subject: string): Mark {
    return { at: performance.now(), epoch: this.#epochs[slot(subject)] ?? 0 }
  }

  set(subject: string, cost: number, standings: readonly Standing[], mark: Mark): void {
    if (this.#maxMs === 0 || this.#epochs[slot(subject)] !== mark.epoch) return
    const waitMs = Math.max(...standings.map((standing) => standing.retryAfterMs))
    const lastsMs = Math.min(waitMs, this.#maxMs)
    let costs = this.#subjects.get(subject)
    if (!costs) {
      if (this.#subjects.size >= MAX_SUBJECTS) dropOldest(this.#subjects)
      costs = new Map()
      this.#subjects.set(detached(subject), costs)
    }
    if (costs.size >= MAX_COSTS) dropOldest(costs)
    costs.set(cost, { askedAt: mark.at, answeredAt: performance.now(), lastsMs, standings })
  }

  clear(subject: string): void {
    this.#subjects.delete(subject)
    const index = slot(subject)
    this.#epochs[index] = (this.#epochs[index] ?? 0) + 1
  }

  #forget(subject: string, cost: number): void {
    const costs = this.#subjects.get(subject)
    costs?.delete(cost)
    if (costs?.size === 0) this.#subjects.delete(subject)
  }
}

/** When a question was sent, and how often its subject's slot had been cleared by then. */
export interface Mark {
  readonly at: number
  readonly epoch: number
}

/**
 * The store decided at some moment between question and answer. So that a client that waits passes, what is left of a
 * wait counts from the answer; so that nobody is refused for longer, the refusal ends by the question.
 */
interface Refusal {
  readonly askedAt: number
  readonly answeredAt: number
  readonly lastsMs: number
  readonly standings: readonly Standing[]
}

const MAX_SUBJECTS = 10_000
const MAX_COSTS = 8
const EPOCHS = 256

function later(standing: Standing, elapsedMs: number): Standing {
  const left = (ms: number) => Math.max(0, Math.ceil(ms - elapsedMs))
  return {
    ...standing,
    retryAfterMs: left(standing.retryAfterMs),
    resetMs: left(standing.resetMs),
    nextMs: left(standing.nextMs),
  }
}

/** Subjects share epochs in slots: a collision costs one question, never a wrong answer. */
function slot(subject: string): number {
  const last = subject.charCodeAt(subject.length - 1)
  return (last * 31 + subject.length + subject.charCodeAt(subject.length >> 1)) % EPOCHS
}

function dropOldest(map: Map<unknown, unknown>): void {
  map.delete(map.keys().next().value)
}
