import { StoreUnavailableError } from '../errors.ts'
import { aborts } from '../resilience/aborts.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { newToken } from '../token.ts'
import type { TimedGrant } from './grant.ts'
import type { LockClaim } from './store.ts'

/** What came of a wait: a grant, or a refusal, and how long until the lease in its way ends. */
export type Taken = TimedGrant | { readonly leftMs: number }

/** How somebody waits for a lock. */
export interface Wait {
  readonly port: GuardedPort<'lock'>
  readonly claim: LockClaim
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
  /** Whether the claim may go on under another token when nobody knows what became of it; default true. */
  readonly renewable?: boolean
}

/** Somebody of this process who waits for one key, until a moment, or an abort. */
export class Caller {
  readonly port: GuardedPort<'lock'>
  claim: LockClaim
  readonly #wait: Wait
  readonly #resolve: (taken: Taken) => void
  readonly #reject: (reason: unknown) => void
  readonly #stop: () => void
  /** The store's last word: when the lease in the way ends, or why there is none. */
  #lastWord: { readonly endsAt: number } | { readonly error: unknown } | undefined

  /** `leave` is called when it waits no more. */
  constructor(
    wait: Wait,
    leave: (caller: Caller) => void,
    resolve: (taken: Taken) => void,
    reject: (reason: unknown) => void,
  ) {
    this.port = wait.port
    this.claim = wait.claim
    this.#wait = wait
    this.#resolve = resolve
    this.#reject = reject
    const timer = setTimeout(() => {
      leave(this)
      this.#timedOut()
    }, wait.waitMs)
    const stopListening =
      wait.signal &&
      aborts.add(wait.signal, () => {
        leave(this)
        this.#fail(wait.signal?.reason)
      })
    this.#stop = () => {
      clearTimeout(timer)
      stopListening?.()
    }
  }

  granted(grant: TimedGrant): void {
    this.#stop()
    this.#resolve(grant)
  }

  held(leftMs: number): void {
    this.#lastWord = { endsAt: performance.now() + leftMs }
  }

  /** An ask failed, whoever's it was. Whether it goes on waiting: only if it had an answer before. */
  unanswered(error: unknown): boolean {
    if (!this.#lastWord) {
      this.#fail(error)
      return false
    }
    this.#lastWord = { error }
    return true
  }

  /** Nobody knows what became of its claim, so it is given up. Whether it goes on waiting, with another one. */
  renewClaim(error: unknown = tooLate()): boolean {
    if (this.#wait.renewable === false) {
      this.#fail(error)
      return false
    }
    this.claim = { ...this.claim, token: newToken() }
    return true
  }

  #timedOut(): void {
    const word = this.#lastWord
    if (word && 'endsAt' in word) {
      this.#stop()
      this.#resolve({ leftMs: Math.max(0, word.endsAt - performance.now()) })
    } else this.#fail(word ? word.error : noAnswer(this.#wait.waitMs))
  }

  #fail(reason: unknown): void {
    this.#stop()
    this.#reject(reason)
  }
}

/** A grant whose lease was over when it came. */
export function tooLate(): StoreUnavailableError {
  return new StoreUnavailableError('deadline', 'the lease was over when its grant came')
}

export function noAnswer(waitMs: number): StoreUnavailableError {
  return new StoreUnavailableError('deadline', `no answer within the ${waitMs} ms of \`waitMs\``)
}
