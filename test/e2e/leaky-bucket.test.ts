import { connect } from 'node:net'
import { leakyBucket, type Store, subscribe } from '@sluice/express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { Site } from '../support/http.ts'
import type { Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'

const DRAIN_MS = 600
/** The turn is reckoned from the store's decision, the handler runs a little after it. */
const SLACK_MS = 100

describe.each(matrix)('R26: the leaky bucket in %s', (_name, framework, backend) => {
  let open: OpenStore
  let store: Store
  let app: TestApp
  let served: { readonly path: string; readonly at: number }[]

  beforeEach(() => {
    open = backend.open()
    store = open.store
    app = framework.app()
    served = []
  })

  afterEach(async () => {
    await open[Symbol.asyncDispose]()
  })

  async function serving(options: Options, use: (site: Site) => Promise<void>): Promise<void> {
    const policy = leakyBucket({ capacity: 2, drain: 1, drainMs: DRAIN_MS })
    app.limit({ policy, store, key: () => 'ann', ...options })
    app.answer(({ path }) => {
      served.push({ path, at: performance.now() })
      return 'your turn'
    })
    await using site = await app.serve()
    await use(site)
  }

  it('holds requests until their turn, and refuses those for which the line is full', () =>
    serving({}, async (site) => {
      const replies = await Promise.all(['/', '/', '/', '/'].map((path) => site.ask(path)))
      expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 200, 429])
      const [first, second, third] = served.map(({ at }) => at)
      expect(second).toBeGreaterThan((first ?? 0) + DRAIN_MS - SLACK_MS)
      expect(third).toBeGreaterThan((first ?? 0) + 2 * DRAIN_MS - SLACK_MS)
    }))

  it('does not bother a handler with a request whose client left the line', async () => {
    let decided = 0
    const stop = subscribe('sluice:rate-limit', () => decided++)
    const decisions = (count: number) => eventually(() => decided === count)
    await serving({}, async (site) => {
      await site.ask('/first')
      const leaving = new AbortController()
      const left = site.ask('/leaves', { signal: leaving.signal }).catch(() => 'left')
      await decisions(2)
      const last = site.ask('/last')
      await decisions(3)
      leaving.abort()
      expect(await left).toBe('left')
      expect((await last).status).toBe(200)
      expect(served.map(({ path }) => path)).toEqual(['/first', '/last'])
    })
    stop()
  })

  it('does not bother a handler with requests that came at once on a connection that is gone', async () => {
    let decided = 0
    const stop = subscribe('sluice:rate-limit', () => decided++)
    const decisions = (count: number) => eventually(() => decided === count)
    const policy = leakyBucket({ capacity: 3, drain: 1, drainMs: DRAIN_MS })
    await serving({ policy }, async (site) => {
      await site.ask('/first')
      const { hostname, port } = new URL(site.url)
      const leaving = connect(Number(port), hostname)
      for (const path of ['/a', '/b']) leaving.write(`GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`)
      await decisions(3)
      const last = site.ask('/last')
      await decisions(4)
      leaving.destroy()
      expect((await last).status).toBe(200)
      expect(served.map(({ path }) => path)).toEqual(['/first', '/last'])
    })
    stop()
  })

  it('R27: holds nobody in a trial', () => {
    // Whoever was held here would be held for longer than any test runs.
    const policy = leakyBucket({ capacity: 2, drain: 1, drainMs: 3_600_000 })
    return serving({ policy, enforce: false }, async (site) => {
      for (const path of ['/1', '/2', '/3', '/4']) expect((await site.ask(path)).status).toBe(200)
    })
  })
})
