import { errorMonitor } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

/** The streams that are being piped into a response. */
export class PipedSources {
  readonly #sources = new Set<Readable>()
  readonly #died: () => void

  /** `died` is called when one of them is closed before its end, and nobody has taken it away by then. */
  constructor(response: ServerResponse, died: () => void) {
    this.#died = died
    response.on('pipe', (source: Readable) => this.#add(source))
    response.on('unpipe', (source: Readable) => this.#sources.delete(source))
  }

  get isEmpty(): boolean {
    return this.#sources.size === 0
  }

  /** Keeps them from being destroyed in this turn. */
  shield(): void {
    for (const source of this.#sources) shield(source)
  }

  #add(source: Readable): void {
    this.#sources.add(source)
    const check = () => {
      // Whoever hears of its death in this turn may still end the response otherwise.
      setImmediate(() => {
        if (source.readableEnded === false && this.#sources.has(source)) this.#died()
      })
    }
    source.once('close', check)
    source.once(errorMonitor, check)
  }
}

function shield(source: Readable): void {
  const before = Object.getOwnPropertyDescriptor(source, 'destroy')
  source.destroy = () => source
  setImmediate(() => {
    Reflect.deleteProperty(source, 'destroy')
    if (before) Object.defineProperty(source, 'destroy', before)
  })
}
