import type { Head } from './response-head.ts'

/** A response as its handler gave it. */
export interface Recorded {
  readonly head: Head
  /** Undefined when it was too long to keep, or a stream of events. */
  readonly body: string | Uint8Array | undefined
}

/** Whom a recorder tells. */
export interface WireListener {
  readonly maxBodyBytes: number
  /** The response is whole. Its last bytes leave when the promise is settled; it must not reject. */
  ended(response: Recorded): Promise<void>
  /** The response was cut off, by a stream that died or by somebody who destroyed it. At most once. */
  cut(): void
  /** Calls `then` when it makes no sense any more to wait for a handler whose client has left. */
  whenLost(then: () => void): void
}
