import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A response under way on a connection. */
export interface Exchange {
  /** Runs `destroy` later, when its last bytes are out, and tells true; false when it need not wait. */
  defers(destroy: () => void): boolean
  /** The connection broke, or is about to: it may say so in an `error` before its `close`. */
  breaking(): void
  /** The connection is closed, and neither the response nor anybody else has heard of it yet. */
  left(): void
  /** Somebody in this process destroys the connection, or did so to one that was closed already. */
  severed(): void
}

/** Tells exchanges what becomes of their connection: whether its client left it, or somebody here destroyed it. */
export class ConnectionGuard {
  /** Replaced, not changed: while they are told, some leave. */
  #exchanges: readonly Exchange[] = []

  static of(socket: Socket): ConnectionGuard {
    let guard = guards.get(socket)
    if (!guard) {
      guard = new ConnectionGuard(socket)
      guards.set(socket, guard)
    }
    return guard
  }

  private constructor(socket: Socket) {
    const destroy = socket.destroy
    let isIdle = false
    let isClosed = false
    socket.destroy = (error?: Error) => {
      const go = () => destroy.call(socket, error)
      for (const exchange of this.#exchanges) if (exchange.defers(go)) return socket
      if (isClosed || !(isIdle || isNodes(socket, error)))
        for (const exchange of this.#exchanges) exchange.severed()
      return go()
    }
    // Node.js destroys what was idle for too long while it tells so.
    socket.prependListener('timeout', () => {
      isIdle = true
      queueMicrotask(() => {
        isIdle = false
      })
    })
    // Before Node's own listeners, which tell the response, and before those of the framework.
    socket.prependListener('error', () => {
      for (const exchange of this.#exchanges) exchange.breaking()
    })
    socket.prependListener('close', () => {
      isClosed = true
      for (const exchange of this.#exchanges) exchange.left()
    })
  }

  /** Until the response is finished, or told that it is closed. */
  watch(exchange: Exchange, response: ServerResponse): void {
    this.#exchanges = [...this.#exchanges, exchange]
    const forget = () => {
      this.#exchanges = this.#exchanges.filter((other) => other !== exchange)
    }
    response.on('finish', forget)
    response.on('close', forget)
  }
}

const guards = new WeakMap<Socket, ConnectionGuard>()

/**
 * A connection also ends by `destroy` when the client closed it, or when Node.js gives it up: reading, writing,
 * decrypting or parsing failed, or the client took too long. Its errors have codes.
 */
function isNodes(socket: Socket, error: Error | undefined): boolean {
  return (
    socket.readableEnded || (error !== undefined && typeof Reflect.get(error, 'code') === 'string')
  )
}
