import type { Socket } from 'node:net'

/** A response under way on a connection. */
export interface Exchange {
  /** Runs `destroy` later, when its last bytes are out, and tells true; false when it need not wait. */
  defers(destroy: () => void): boolean
  /** The connection broke, or is about to: it may say so in an `error` before its `close`. */
  breaking(): void
  /** The connection is closed, and neither the response nor anybody else has heard of it yet. */
  left(socket: Socket): void
  /** Somebody in this process destroys the connection. */
  severed(): void
}

/** Tells exchanges what becomes of their connection: whether its client left it, or somebody here destroyed it. */
export class ConnectionGuard {
  readonly #exchanges = new Set<Exchange>()

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
    socket.destroy = (error?: Error) => {
      const go = () => destroy.call(socket, error)
      for (const exchange of this.#exchanges) if (exchange.defers(go)) return socket
      if (!isClients(socket, error)) for (const exchange of this.#exchanges) exchange.severed()
      return go()
    }
    // Before Node's own listeners, which tell the response, and before those of the framework.
    socket.prependListener('error', () => {
      for (const exchange of this.#exchanges) exchange.breaking()
    })
    socket.prependListener('close', () => {
      for (const exchange of this.#exchanges) exchange.left(socket)
      this.#exchanges.clear()
    })
  }

  add(exchange: Exchange): void {
    this.#exchanges.add(exchange)
  }

  remove(exchange: Exchange): void {
    this.#exchanges.delete(exchange)
  }
}

const guards = new WeakMap<Socket, ConnectionGuard>()

/** A connection also ends by `destroy` when the client closed it, or when reading from or writing to it failed. */
function isClients(socket: Socket, error: Error | undefined): boolean {
  if (socket.readableEnded) return true
  if (!error) return false
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string' && /^(E(?!RR_)|HPE_)/.test(code)
}
