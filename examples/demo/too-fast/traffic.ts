import { once, setMaxListeners } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mishap } from '../act.ts'
import { arrivals, LIMIT, RUN_MS } from './arrivals.ts'
import type { Outcome } from './outcome.ts'

/** What a route answers to a request that passed. */
export interface Passed {
  readonly waitedMs: number
}

/**
 * Sends the arrivals to all routes at once, and calls `report` with what became of each request. Ends with
 * the run's time, or the last answer. Rejects with {@link Mishap} when a route answers neither 200 nor 429.
 */
export async function drive(
  urls: readonly string[],
  report: (route: number, outcome: Outcome) => void,
): Promise<void> {
  const control = new AbortController()
  setMaxListeners(0, control.signal) // every request that is still to come listens
  const agent = new Agent({ keepAlive: true })
  await openConnections(agent, urls)
  const startedAt = performance.now()
  const elapsedMs = () => performance.now() - startedAt

  const until = (atMs: number) => sleep(atMs - elapsedMs(), undefined, control)
  const visit = async (url: string, atMs: number): Promise<Outcome> => {
    await until(atMs)
    const sentMs = elapsedMs()
    const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
    const answeredMs = elapsedMs()
    const body = await json(response)
    const { statusCode } = response
    if (statusCode === 200)
      return { sentMs, answeredMs, passed: true, waited: (body as Passed).waitedMs > 0 }
    if (statusCode === 429) return { sentMs, answeredMs, passed: false, waited: false }
    throw new Mishap(`GET ${url} was answered with ${statusCode}.`)
  }

  const visits = urls.flatMap((url, route) =>
    arrivals.map(async (atMs) => report(route, await visit(url, atMs))),
  )
  try {
    await Promise.all([...visits, until(RUN_MS)])
  } finally {
    control.abort()
    agent.destroy()
  }
}

/** A crowd on a cold server would be late: its connections are opened before the clock starts. */
async function openConnections(agent: Agent, urls: readonly string[]): Promise<void> {
  const { origin } = new URL(urls[0] ?? '')
  const paths = Array.from(
    { length: urls.length * LIMIT },
    (_, index) => `${origin}/warm-up/${index}`,
  )
  await Promise.all(
    paths.map(async (path) => {
      const [response] = (await once(get(path, { agent }), 'response')) as [IncomingMessage]
      await text(response)
    }),
  )
}
