import type { Listening } from '../redis/messages.ts'

/** Calls whose turn it is, within this process. */
export class MemoryTurns {
  readonly #listeners = new Map<string, Set<() => void>>()

  listen(key: string, waiter: string, onTurn: () => void): Listening {
    const name = channel(key, waiter)
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    const listener = () => onTurn()
    listeners.add(listener)
    return {
      ready: Promise.resolve(),
      close: () => {
        if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(name)
      },
    }
  }

  call(key: string, waiter: string): void {
    for (const listener of this.#listeners.get(channel(key, waiter)) ?? []) listener()
  }
}

/** The length in front: no two pairs share a name, whatever characters they hold. */
function channel(key: string, waiter: string): string {
  return `${key.length}:${key}${waiter}`
}
