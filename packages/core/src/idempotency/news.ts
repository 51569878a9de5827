import type { Listening, Messages } from '../redis/messages.ts'
import { Wakeups, type Watch } from './wakeups.ts'

/** News of keys that others settle. A lost message costs a second, not the answer: see `waitForNews`. */
export class News {
  readonly #messages: Messages
  readonly #wakeups = new Wakeups()
  readonly #listening = new Map<string, Listening>()

  constructor(messages: Messages) {
    this.#messages = messages
  }

  watch(channel: string): Watch {
    const { ready } = this.#listening.get(channel) ?? this.#listen(channel)
    return this.#wakeups.watch(channel, ready, () => this.#leave(channel))
  }

  #listen(channel: string): Listening {
    const listening = this.#messages.listen(channel, (state) => this.#tell(channel, state))
    this.#listening.set(channel, listening)
    return listening
  }

  #leave(channel: string): void {
    this.#listening.get(channel)?.close()
    this.#listening.delete(channel)
  }

  /** The message is the new state: see lua/idempotency/settle.lua. */
  #tell(channel: string, state: string): void {
    if (state === 'F') this.#wakeups.wakeOne(channel)
    else this.#wakeups.wakeAll(channel)
  }
}
