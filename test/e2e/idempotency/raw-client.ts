import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Site } from '../../support/http.ts'

/** A client that sends and receives bytes, as they are. */
export class RawClient implements AsyncDisposable {
  readonly socket: Socket
  #received = ''

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('data', (text: string) => {
      this.#received += text
    })
  }

  static async to(site: Site): Promise<RawClient> {
    const { port, hostname } = new URL(site.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  /** All that came so far. */
  get received(): string {
    return this.#received
  }

  post(key: string | undefined, path = '/', connection = 'close'): void {
    this.socket.write(
      `POST ${path} HTTP/1.1\r\nHost: test\r\nConnection: ${connection}\r\nContent-Type: application/json\r\n` +
        `${key === undefined ? '' : `Idempotency-Key: ${key}\r\n`}Content-Length: 2\r\n\r\n{}`,
    )
  }

  /** All that came, once the server has closed the connection. */
  async end(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, 'close')
    return this.#received
  }

  /** Leaves; resolves when this side is closed. */
  async leave(how: 'end' | 'reset' = 'end'): Promise<void> {
    const closed = once(this.socket, 'close')
    if (how === 'reset') this.socket.resetAndDestroy()
    else this.socket.destroy()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.socket.closed) await this.leave()
  }
}
