import type { RedisPort } from './client.ts'
import type { Subscriber } from './subscriber.ts'

/** One listener of one channel. */
export interface Listening {
  /** Resolved when messages can arrive, or will not arrive at all; never rejects. */
  readonly ready: Promise<void>
  close(): void
}

/**
 * Messages that scripts publish, over one connection of the store's own for all its capabilities, opened when somebody
 * listens for the first time. Messages are hints: connections break, so whoever waits also asks now and then.
 */
export class Messages {
  readonly #redis: RedisPort
  readonly #channels = new Map<string, Channel>()
  readonly #leaving = new Map<string, Promise<unknown>>()
  #subscriber: Subscriber | undefined
  #closed = false

  constructor(redis: RedisPort) {
    this.#redis = redis
  }

  listen(channel: string, onMessage: (message: string) => void): Listening {
    const { ready, listeners } = this.#channels.get(channel) ?? this.#subscribe(channel)
    // A function of its own, so that one that listens twice is heard twice.
    const listener = (message: string) => onMessage(message)
    listeners.add(listener)
    return {
      ready,
      close: () => {
        if (listeners.delete(listener) && listeners.size === 0) this.#unsubscribe(channel)
      },
    }
  }

  /** No more messages from now on. */
  close(): void {
    this.#closed = true
    this.#subscriber?.close()
    this.#subscriber = undefined
  }

  #subscribe(name: string): Channel {
    const ready = Promise.resolve().then(() => this.#open(name, channel))
    const channel: Channel = { ready, listeners: new Set() }
    this.#channels.set(name, channel)
    return channel
  }

  /** Never rejects. Some listen for as long as the store is there, and would be deaf for ever. */
  async #open(name: string, channel: Channel, pauseMs = FIRST_PAUSE_MS): Promise<void> {
    // Clients mix up what they subscribe to again before they have left it.
    await this.#leaving.get(name)
    if (this.#closed || this.#channels.get(name) !== channel) return
    try {
      this.#subscriber ??= this.#redis.openSubscriber((from, message) => this.#tell(from, message))
      await this.#subscriber?.subscribe(name)
    } catch {
      const nextPauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      setTimeout(() => this.#open(name, channel, nextPauseMs), pauseMs).unref()
    }
  }

  #unsubscribe(name: string): void {
    this.#channels.delete(name)
    const left = this.#subscriber?.unsubscribe(name).catch(() => {})
    if (!left) return
    const leaving = left.then(() => {
      if (this.#leaving.get(name) === leaving) this.#leaving.delete(name)
    })
    this.#leaving.set(name, leaving)
  }

  #tell(channel: string, message: string): void {
    for (const listener of this.#channels.get(channel)?.listeners ?? []) listener(message)
  }
}

const FIRST_PAUSE_MS = 500
/** Whoever may not listen at all, by an ACL, asks little in vain. */
const LONGEST_PAUSE_MS = 30_000

type Listener = (message: string) => void

interface Channel {
  readonly ready: Promise<void>
  readonly listeners: Set<Listener>
}
