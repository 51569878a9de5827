import type { IdempotencyEvent, IdempotencyOptions, IdempotencyRequest } from '@sluice/core'
import { Child } from '../../support/child.ts'

/** What `children/owner.ts` can be told to do. */
export type Order =
  | { readonly do: 'begin'; readonly request: IdempotencyRequest }
  | { readonly do: 'complete'; readonly body: string }
  | { readonly do: 'copies'; readonly copies: number; readonly request: IdempotencyRequest }
  | { readonly do: 'tell' }

/** A process that claims keys, and may die or stand still while it holds them. */
export class Owner implements AsyncDisposable {
  readonly #child: Child

  private constructor(child: Child) {
    this.#child = child
  }

  static async start(port: number, options: Omit<IdempotencyOptions, 'store'>): Promise<Owner> {
    const file = new URL('children/owner.ts', import.meta.url)
    return new Owner(await Child.start(file, { args: [String(port), JSON.stringify(options)] }))
  }

  begin(request: IdempotencyRequest): Promise<{ state: string; attempt: number; fence: number }> {
    return this.#ask({ do: 'begin', request })
  }

  complete(body: string): Promise<'settled' | 'refused'> {
    return this.#ask({ do: 'complete', body })
  }

  /** Begins so many times at once, runs where it may, and answers what came of each. */
  copies(copies: number, request: IdempotencyRequest): Promise<readonly unknown[]> {
    return this.#ask({ do: 'copies', copies, request })
  }

  tell(): Promise<{ aborted: boolean; events: readonly IdempotencyEvent[] }> {
    return this.#ask({ do: 'tell' })
  }

  kill(): Promise<void> {
    return this.#child.kill()
  }

  pause(): void {
    this.#child.pause()
  }

  resume(): void {
    this.#child.resume()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]()
  }

  #ask<T>(order: Order): Promise<T> {
    return this.#child.ask<T>(order)
  }
}
