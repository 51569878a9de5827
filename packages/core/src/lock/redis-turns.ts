import type { Listening, Messages } from '../redis/messages.ts'

/** Hears on a channel whose turn it is, for any number of locks. */
export class RedisTurns {
  readonly #messages: Messages
  readonly #channels = new Map<string, Channel>()
  #idle: string | undefined

  constructor(messages: Messages) {
    this.#messages = messages
  }

  /** Calls `onTurn` for each message of this channel that names the lock. */
  listen(channel: string, holderKey: string, onTurn: () => void): Listening {
    const { listening, listeners } = this.#channels.get(channel) ?? this.#open(channel)
    if (this.#idle === channel) this.#idle = undefined
    const name = tail(holderKey)
    const turns = listeners.get(name) ?? new Set()
    listeners.set(name, turns)
    const turn = () => onTurn()
    turns.add(turn)
    return {
      ready: listening.ready,
      close: () => {
        if (!turns.delete(turn) || turns.size > 0) return
        listeners.delete(name)
        if (listeners.size === 0) this.#rest(channel)
      },
    }
  }

  #open(channel: string): Channel {
    const listeners: Channel['listeners'] = new Map()
    const listening = this.#messages.listen(channel, (holderKey) => {
      for (const turn of listeners.get(tail(holderKey)) ?? []) turn()
    })
    const opened = { listening, listeners }
    this.#channels.set(channel, opened)
    return opened
  }

  /** Whoever waited will wait again: the last channel stays open, so that it need not be opened each time. */
  #rest(channel: string): void {
    const idle = this.#idle
    this.#idle = channel
    if (idle === undefined || idle === channel) return
    this.#channels.get(idle)?.listening.close()
    this.#channels.delete(idle)
  }
}

interface Channel {
  readonly listening: Listening
  readonly listeners: Map<string, Set<() => void>>
}

/** What a lock's key begins with may be the client's own, which only its server sees; the hash tag is the lock's. */
function tail(holderKey: string): string {
  return holderKey.slice(holderKey.lastIndexOf('{'))
}
