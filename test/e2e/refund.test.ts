import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import {
  createRateLimiter,
  fixedWindow,
  type RateLimiter,
  type RefundFailedEvent,
  type Store,
  subscribe,
} from '@sluice/express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { Site } from '../support/http.ts'
import type { Exchange, Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'

const three = fixedWindow({ name: 'three', limit: 3, windowMs: 60_000 })

describe.each(matrix)('R25: refund in %s', (_name, framework, backend) => {
  let open: OpenStore
  let store: Store
  let app: TestApp
  let limiter: RateLimiter
  let asked: string[]

  beforeEach(() => {
    open = backend.open()
    store = open.store
    app = framework.app()
    limiter = createRateLimiter({ name: 'logins', policy: three, store })
    asked = []
  })

  afterEach(async () => {
    await open[Symbol.asyncDispose]()
  })

  async function serving(
    options: Options,
    answer: (exchange: Exchange) => string | Promise<string>,
    use: (site: Site) => Promise<void>,
  ): Promise<void> {
    app.limit({
      name: 'logins',
      policy: three,
      store,
      key: () => 'ann',
      refund: remember,
      ...options,
    })
    app.answer(answer)
    await using site = await app.serve()
    await use(site)
  }

  function remember({ path }: Exchange): boolean {
    asked.push(path)
    return true
  }

  const isSpent = (spent: number) =>
    eventually(async () => expect(3 - (await limiter.peek('ann')).remaining).toBe(spent))

  it('is asked once, knows the answer, and gives the whole cost back', () => {
    const refund = ({ path, status }: Exchange) => {
      asked.push(`${path} ${status}`)
      return status === 200
    }
    return serving(
      { refund, cost: 2 },
      () => 'welcome',
      async (site) => {
        await site.ask('/first')
        await isSpent(0)
        await site.ask('/second')
        await isSpent(0)
        expect(asked).toEqual(['/first 200', '/second 200'])
      },
    )
  })

  it('keeps the cost when the answer is no', () =>
    serving(
      { refund: async ({ path }) => path === '/right' },
      () => 'hm',
      async (site) => {
        await site.ask('/wrong')
        await site.ask('/right')
        await isSpent(1)
      },
    ))

  it('is not asked for refused requests, nor in a trial that would have refused them', async () => {
    const limit = fixedWindow({ name: 'three', limit: 1, windowMs: 60_000 })
    app.limit({
      name: 'logins',
      policy: limit,
      store,
      key: () => 'ann',
      refund: remember,
      enforce: false,
    })
    app.limit({ name: 'enforced', policy: limit, store, key: () => 'ann', refund: remember })
    app.answer(() => 'welcome')
    await limiter.consume('ann')
    await createRateLimiter({ name: 'enforced', policy: limit, store }).consume('ann')
    await using site = await app.serve()
    expect((await site.ask()).status).toBe(429)
    await site.ask()
    expect(asked).toEqual([])
    await isSpent(1)
  })

  it('is not asked when the client leaves before the answer: no free guesses by hanging up', () => {
    const arrived = new Signal()
    const left = new Signal()
    const answer = async ({ path }: Exchange) => {
      if (path !== '/leaves') return 'welcome'
      arrived.give()
      await left.given
      return 'too late'
    }
    return serving({}, answer, async (site) => {
      site.server.once('connection', (socket: Socket) => socket.once('close', () => left.give()))
      const client = get(site, '/leaves')
      await arrived.given
      client.destroy()
      await left.given
      await site.ask('/stays')
      await isSpent(1)
      expect(asked).toEqual(['/stays'])
    })
  })

  it('is not asked when the client leaves in the middle of the answer', () =>
    serving(
      {},
      ({ path }) => (path === '/leaves' ? LONG : 'welcome'),
      async (site) => {
        const gone = new Promise((resolve) => {
          site.server.once('connection', (socket: Socket) => socket.once('close', resolve))
        })
        const client = get(site, '/leaves')
        await once(client, 'readable')
        client.destroy()
        await gone
        await site.ask('/stays')
        await isSpent(1)
        expect(asked).toEqual(['/stays'])
      },
    ))

  it('may fail without harm: the cost stays, and an event tells', async () => {
    const events: RefundFailedEvent[] = []
    const stop = subscribe('sluice:rate-limit', (event) => {
      if (event.type === 'refund-failed') events.push(event)
    })
    const error = new Error('no idea')
    const refund = () => {
      throw error
    }
    await serving(
      { refund },
      () => 'welcome',
      async (site) => {
        expect((await site.ask()).status).toBe(200)
        await eventually(() => expect(events).toHaveLength(1))
        expect((await site.ask()).status).toBe(200)
      },
    )
    stop()
    expect(events[0]).toMatchObject({ limiter: 'logins', cost: 1, error })
    expect(app.errors).toEqual([])
    await isSpent(2)
  })
})

/** More than what a loopback connection buffers. */
const LONG = 'x'.repeat(32 * 1024 * 1024)

class Signal {
  readonly given: Promise<void>
  give: () => void = () => {}

  constructor() {
    this.given = new Promise((resolve) => {
      this.give = resolve
    })
  }
}

/** Asks, and leaves the rest to the caller. */
function get(site: Site, path: string): Socket {
  const { hostname, port } = new URL(site.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  return socket
}
