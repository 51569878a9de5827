/** News of one key, for one who waits for it. */
export interface Watch {
  /** Resolved when news can arrive, or will not arrive at all; never rejects. */
  readonly ready: Promise<void>
  /** Resolves with the next news, or at once with news that came since the last call. */
  changed(): Promise<void>
  close(): void
}

/** Wakes those who wait in this process, key by key. */
export class Wakeups {
  readonly #watchers = new Map<string, Set<Watcher>>()

  /** `ready` as in {@link Watch}; `left` is called when nobody in this process watches the key any more. */
  watch(key: string, ready: Promise<void> = Promise.resolve(), left: () => void = () => {}): Watch {
    const watchers = this.#watchers.get(key) ?? new Set()
    this.#watchers.set(key, watchers)
    const watcher = new Watcher(ready, () => {
      if (watchers.delete(watcher) && watchers.size === 0) {
        this.#watchers.delete(key)
        left()
      }
    })
    watchers.add(watcher)
    return watcher
  }

  /** The outcome is there: for all. */
  wakeAll(key: string): void {
    for (const watcher of this.#watchers.get(key) ?? []) watcher.wake()
  }

  /** The key is free: only one can claim it, so only one is sent; the one who waits longest and was not sent last. */
  wakeOne(key: string): void {
    const watchers = this.#watchers.get(key)
    const [first] = watchers ?? []
    if (!watchers || !first) return
    watchers.delete(first)
    watchers.add(first)
    first.wake()
  }
}

class Watcher implements Watch {
  readonly ready: Promise<void>
  readonly close: () => void
  #woken = false
  #resolve: (() => void) | undefined

  constructor(ready: Promise<void>, close: () => void) {
    this.ready = ready
    this.close = close
  }

  changed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#woken) resolve()
      else this.#resolve = resolve
      this.#woken = false
    })
  }

  wake(): void {
    this.#woken = this.#resolve === undefined
    this.#resolve?.()
    this.#resolve = undefined
  }
}
