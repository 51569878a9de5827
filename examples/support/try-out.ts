import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Sends one request, prints what came back, and returns the body. */
export type Ask = (path: string, init?: RequestInit) => Promise<string>

/**
 * Serves an application on a free port and lets `visits` send requests to it, then ends. With `--serve` on
 * the command line it waits for your requests instead, until Ctrl-C.
 */
export async function tryOut(
  app: RequestListener,
  visits: (ask: Ask) => Promise<unknown>,
): Promise<void> {
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  if (process.argv.includes('--serve')) {
    console.log(`Serving on ${url} until Ctrl-C`)
    await once(process, 'SIGINT')
  } else await visits((path, init) => ask(url, path, init))
  server.close()
  server.closeAllConnections()
}

async function ask(url: string, path: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url + path, init)
  const fields = ['RateLimit', 'Retry-After', 'Idempotency-Replayed'].flatMap((name) => {
    const value = response.headers.get(name)
    return value ? [`${name}: ${value}`] : []
  })
  console.log(
    `${`${init.method ?? 'GET'} ${path}`.padEnd(12)} ${[response.status, ...fields].join('  ')}`,
  )
  return response.text()
}
