import type { RedisPort } from '../redis/client.ts'
import type { Subscriber } from '../redis/subscriber.ts'
import { Wakeups, type Watch } from './wakeups.ts'

/**
 * News of keys that others settle, over one connection of the store's own, opened when somebody waits for the first
 * time. Messages are hints: whoever waits also asks now and then, so a lost one costs a second, not the answer.
 */
export class News {
  readonly #redis: RedisPort
  readonly #wakeups = new Wakeups()
  readonly #ready = new Map<string, Promise<void>>()
  #subscriber: Subscriber | undefined
  #closed = false

  constructor(redis: RedisPort) {
    this.#redis = redis
  }

  watch(channel: string): Watch {
    const ready = this.#ready.get(channel) ?? this.#subscribe(channel)
    return this.#wakeups.watch(channel, ready, () => this.#unsubscribe(channel))
  }

  /** Whoever waits from now on asks once a second. */
  close(): void {
    this.#closed = true
    this.#subscriber?.close()
    this.#subscriber = undefined
  }

  #subscribe(channel: string): Promise<void> {
    const ready = this.#open(channel).catch(() => {})
    this.#ready.set(channel, ready)
    return ready
  }

  async #open(channel: string): Promise<void> {
    if (this.#closed) return
    this.#subscriber ??= this.#redis.openSubscriber((name, message) => this.#tell(name, message))
    await this.#subscriber?.subscribe(channel)
  }

  #unsubscribe(channel: string): void {
    this.#ready.delete(channel)
    this.#subscriber?.unsubscribe(channel).catch(() => {})
  }

  /** The message is the new state: see lua/idempotency/settle.lua. */
  #tell(channel: string, state: string): void {
    if (state === 'F') this.#wakeups.wakeOne(channel)
    else this.#wakeups.wakeAll(channel)
  }
}
