/**
 * One listener on a source of events, however many parts of Sluice listen: Node.js takes more than ten for a leak,
 * and says so. Nobody listens when none is left, so a source can be forgotten.
 */
export class OneListener<Source extends object> {
  readonly #listen: (source: Source, heard: () => void) => () => void
  readonly #crowds = new WeakMap<Source, Crowd>()

  /** `listen` returns the function that stops it. */
  constructor(listen: (source: Source, heard: () => void) => () => void) {
    this.#listen = listen
  }

  /** Returns the function that takes this listener away. */
  add(source: Source, listener: () => void): () => void {
    const crowd = this.#crowds.get(source) ?? this.#gather(source)
    crowd.listeners.add(listener)
    return () => {
      if (!crowd.listeners.delete(listener) || crowd.listeners.size > 0) return
      crowd.stop()
      this.#crowds.delete(source)
    }
  }

  #gather(source: Source): Crowd {
    const listeners = new Set<() => void>()
    const stop = this.#listen(source, () => {
      for (const listener of listeners) listener()
    })
    const crowd = { listeners, stop }
    this.#crowds.set(source, crowd)
    return crowd
  }
}

interface Crowd {
  readonly listeners: Set<() => void>
  readonly stop: () => void
}
