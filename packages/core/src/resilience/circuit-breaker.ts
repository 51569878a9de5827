import { emit } from '../events.ts'
import { attempt } from './attempt.ts'

/**
 * Opens after a few failures in a row, so that an outage costs callers no more deadlines, and then asks
 * the store itself, in the background, until it answers: no request ever serves as the probe.
 */
export class CircuitBreaker {
  readonly #probe: () => Promise<unknown>
  #failures = 0
  #openedAt: number | undefined
  readonly #outstanding = new Set<Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined

  /** `probe` asks the store for something as small as it can that still proves it can do its work. */
  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
    if (this.#failures < FAILURES_TO_OPEN || this.isOpen) return
    this.#openedAt = performance.now()
    emit('sluice:store', () => ({ type: 'circuit-opened', failures: this.#failures }))
    this.#timer = setInterval(() => this.#ask(), PROBE_MS).unref()
  }

  /** Stops probing; for the store's `close()`. */
  close(): void {
    clearInterval(this.#timer)
    this.#openedAt = undefined
  }

  /**
   * A client may hold a probe back until it is connected again, and answer then: few are ever outstanding. In a
   * cluster a lost master may hold some for ever: after a while they make room for others.
   */
  #ask(): void {
    if (this.#outstanding.size >= MAX_OUTSTANDING) return
    const probe = attempt(this.#probe)
    this.#outstanding.add(probe)
    const forget = () => this.#outstanding.delete(probe)
    const tooLong = setTimeout(forget, GIVE_UP_MS).unref()
    const ended = () => {
      clearTimeout(tooLong)
      forget()
    }
    probe.then(() => {
      ended()
      this.#shut()
    }, ended)
  }

  #shut(): void {
    if (this.#openedAt === undefined) return
    const openMs = Math.round(performance.now() - this.#openedAt)
    this.close()
    this.#failures = 0
    emit('sluice:store', () => ({ type: 'circuit-closed', openMs }))
  }
}

const FAILURES_TO_OPEN = 5
const PROBE_MS = 200
const MAX_OUTSTANDING = 4
const GIVE_UP_MS = 5000
