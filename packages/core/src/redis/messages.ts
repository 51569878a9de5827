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
    const opened = this.#open(name)
    const channel = { ready: opened.catch(() => {}), listeners: new Set<Listener>() }
    this.#channels.set(name, channel)
    opened.catch(() => this.#openLater(name, channel, FIRST_PAUSE_MS))
    return channel
  }

  /** A client that finds no server gives up what it was asked for, after a while, but not its connection. */
  #openLater(name: string, channel: Channel, pauseMs: number): void {
    const open = () => {
      if (this.#closed || this.#channels.get(name) !== channel) return
      const nextPauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      this.#open(name).catch(() => this.#openLater(name, channel, nextPauseMs))
    }
    setTimeout(open, pauseMs).unref()
  }

  async #open(channel: string): Promise<void> {
    if (this.#closed) return
    this.#subscriber ??= this.#redis.openSubscriber((name, message) => this.#tell(name, message))
    await this.#subscriber?.subscribe(channel)
  }

  #unsubscribe(channel: string): void {
    this.#channels.delete(channel)
    this.#subscriber?.unsubscribe(channel).catch(() => {})
  }

  #tell(channel: string, message: string): void {
    for (const listener of this.#channels.get(channel)?.listeners ?? []) listener(message)
  }
}

const FIRST_PAUSE_MS = 500
/** Whoever may not listen at all, by an ACL, sends little in vain. */
const LONGEST_PAUSE_MS = 30_000

type Listener = (message: string) => void

interface Channel {
  readonly ready: Promise<void>
  readonly listeners: Set<Listener>
}
