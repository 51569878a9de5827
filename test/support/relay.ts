import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { command } from './command.ts'

export interface Relay extends AsyncDisposable {
  readonly port: number
}

/**
 * Makes the server that `url` names, with its password, database and TLS, reachable on a plain port of 127.0.0.1, so
 * that tests and their child processes need to know nothing but a port.
 */
export async function relay(url: string): Promise<Relay> {
  const target = parse(url)
  const server = createServer((client) => join(client, target))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.unref()
  await command(port, 'PING').catch((cause: unknown) => {
    throw new Error(`REDIS_URL names a server that does not answer PING`, { cause })
  })
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

interface Target {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** What a connection sends first: password and database. */
  readonly greeting: readonly string[][]
}

function parse(url: string): Target {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url))
    throw new Error('REDIS_URL must look like redis://user:password@host:6379/0')
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const greeting: string[][] = []
  const secret = decodeURIComponent(password)
  if (secret) greeting.push(['AUTH', ...(username ? [decodeURIComponent(username)] : []), secret])
  if (pathname.length > 1) greeting.push(['SELECT', pathname.slice(1)])
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: Number(port || 6379), tls: protocol === 'rediss:', greeting }
}

function join(client: Socket, { host, port, tls, greeting }: Target): void {
  const upstream = tls ? connectTls({ host, port, servername: host }) : connect(port, host)
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const)
    socket.on('error', () => {}).on('close', () => other.destroy())
  const start = (): void => {
    client.pipe(upstream)
    upstream.pipe(client)
  }
  if (greeting.length > 0) greet(upstream, greeting, start)
  else start()
}

/** Calls `ready` once every command of the greeting was answered with OK; anything else ends the connection. */
function greet(upstream: Socket, commands: Target['greeting'], ready: () => void): void {
  const expected = '+OK\r\n'.repeat(commands.length)
  let answer = ''
  upstream.write(commands.map(encode).join(''))
  upstream.on('data', function read(chunk) {
    answer += chunk
    if (!expected.startsWith(answer)) upstream.destroy()
    if (answer !== expected) return
    upstream.off('data', read).pause()
    ready()
  })
}

function encode(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return `*${words.length}\r\n${parts.join('')}`
}
