/** A connection of the store's own on which messages arrive. It heals by itself, and never throws. */
export interface Subscriber {
  /** Resolves when messages can arrive. */
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  close(): void
}

type OnMessage = (channel: string, message: string) => void

/** An ioredis client, as far as subscribing goes. */
export interface IoredisSubscribing {
  duplicate(...args: unknown[]): IoredisSubscribing
  on(event: string, listener: (...args: never[]) => void): unknown
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ssubscribe?(channel: string): Promise<unknown>
  sunsubscribe?(channel: string): Promise<unknown>
  disconnect(): void
}

/** `sharded`: a Cluster, where a message is best heard by the nodes of its channel's slot alone. */
export function ioredisSubscriber(
  client: IoredisSubscribing,
  sharded: boolean,
  onMessage: OnMessage,
): Subscriber {
  const connection = sharded
    ? client.duplicate([], { shardedSubscribers: true, keyPrefix: '' })
    : client.duplicate({ enableOfflineQueue: true, keyPrefix: '' })
  connection.on('error', () => {})
  connection.on('message', onMessage)
  connection.on('smessage', onMessage)
  const channels = new ShardedOrPlain(sharded)
  return {
    subscribe: (channel) =>
      channels.use(
        () => connection.ssubscribe?.(channel),
        () => connection.subscribe(channel),
      ),
    unsubscribe: (channel) =>
      channels.use(
        () => connection.sunsubscribe?.(channel),
        () => connection.unsubscribe(channel),
      ),
    close: () => connection.disconnect(),
  }
}

/** A node-redis client, as far as subscribing goes. */
export interface NodeRedisSubscribing {
  duplicate(): NodeRedisSubscribing
  on(event: string, listener: () => void): unknown
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  sSubscribe?(channel: string, listener: (message: string) => void): Promise<unknown>
  sUnsubscribe?(channel: string): Promise<unknown>
  destroy(): void
}

/** See {@link ioredisSubscriber}. */
export function nodeRedisSubscriber(
  client: NodeRedisSubscribing,
  sharded: boolean,
  onMessage: OnMessage,
): Subscriber {
  const connection = client.duplicate()
  connection.on('error', () => {})
  const connected = connection.connect()
  connected.catch(() => {}) // reported by `subscribe`
  const channels = new ShardedOrPlain(sharded)
  const listener = (channel: string) => (message: string) => onMessage(channel, message)
  return {
    subscribe: async (channel) => {
      await connected
      return channels.use(
        () => connection.sSubscribe?.(channel, listener(channel)),
        () => connection.subscribe(channel, listener(channel)),
      )
    },
    unsubscribe: async (channel) => {
      await connected
      return channels.use(
        () => connection.sUnsubscribe?.(channel),
        () => connection.unsubscribe(channel),
      )
    },
    close: () => connection.destroy(),
  }
}

/** Sharded channels until a server does not know them: one of before 7.0, whose scripts publish to plain ones. */
class ShardedOrPlain {
  #sharded: boolean

  constructor(sharded: boolean) {
    this.#sharded = sharded
  }

  async use(
    sharded: () => Promise<unknown> | undefined,
    plain: () => Promise<unknown>,
  ): Promise<unknown> {
    if (!this.#sharded) return plain()
    try {
      const asked = sharded()
      if (asked !== undefined) return await asked
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('ERR unknown command'))) throw error
    }
    this.#sharded = false
    return plain()
  }
}
