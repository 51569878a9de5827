import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  request as send,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** An Express application is a listener; a Koa application makes one. */
export type App = RequestListener | { callback(): RequestListener }

export interface ServeOptions {
  /** Default 127.0.0.1; `::` gives IPv4 callers an IPv4-mapped address. */
  readonly host?: string
  /** Listens on a Unix socket instead. */
  readonly socketPath?: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
}

/** A response as it came over the wire. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Name, value, name, value, … with case and order kept. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** An application that serves real HTTP on a free port. */
export class Site implements AsyncDisposable {
  readonly server: Server
  readonly #where: { host: string; port: number } | { socketPath: string }

  private constructor(server: Server, { host = '127.0.0.1', socketPath }: ServeOptions) {
    this.server = server
    const port = (): number => (server.address() as AddressInfo).port
    this.#where = socketPath
      ? { socketPath }
      : { host: host === '::' ? '127.0.0.1' : host, port: port() }
  }

  static async serve(app: App, options: ServeOptions = {}): Promise<Site> {
    const server = createServer('callback' in app ? app.callback() : app)
    if (options.socketPath) server.listen(options.socketPath)
    else server.listen(0, options.host ?? '127.0.0.1')
    await once(server, 'listening')
    return new Site(server, options)
  }

  get url(): string {
    if ('socketPath' in this.#where) throw new Error('a Unix socket has no URL')
    const { host, port } = this.#where
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  }

  /** Sends one request on a connection of its own. */
  async ask(path = '/', options: AskOptions = {}): Promise<Reply> {
    const { body, ...rest } = options
    const request = send({ ...this.#where, ...rest, path, agent: false })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      rawHeaders: response.rawHeaders,
      body: await text(response),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeAllConnections()
    await closed
  }
}
