import { fixedWindow, redisStore, type Store } from '@sluice/express'
import { describe, expect, test } from 'vitest'
import { type Framework, frameworks, type TestApp } from '../../e2e/frameworks.ts'
import { eventually } from '../../support/eventually.ts'
import type { Reply, Site } from '../../support/http.ts'
import { connected, ioredis } from './clients.ts'
import { inTime, modes } from './modes.ts'
import { outages, place } from './outages.ts'

const failures = outages.filter(({ name }) => /paused|killed|out of memory/.test(name))

describe.each(frameworks)('$name', (framework) => {
  test.concurrent.each(failures)(
    'R31: with a Redis that is $name, answers as configured: 503 when closed, never 429',
    async (outage) => {
      await using at = await place(outage)
      await using client = await connected(ioredis, at.link.port)
      const app = appOf(framework, redisStore(client.redis))
      await using site = await app.serve()
      await eventually(async () => expect(statuses(await askAll(site))).toEqual(Array(4).fill(200)))

      await outage.begin(at)
      const rounds = await Promise.all([askAll(site), askAll(site)])
      for (const replies of [...rounds, await askAll(site)]) {
        expect(statuses(replies)).toEqual([200, 503, 200, 200])
        const [open, closed, local, limiter] = replies
        expect(open?.headers).not.toHaveProperty('ratelimit')
        expect(closed?.headers).toMatchObject({
          'content-type': 'application/problem+json',
          'retry-after': '1',
        })
        expect(closed?.headers).not.toHaveProperty('ratelimit')
        expect(local?.headers['ratelimit']).toMatch(/^"quota";r=9\d\d;t=\d+$/)
        expect(limiter?.headers['ratelimit']).toMatch(/^"fixed-window";r=77\d\d;t=\d+$/)
      }

      await outage.end(at)
      await eventually(() => client.isReady(), { withinMs: 20_000 })
      // Closed answers 200 only when the store decides.
      await eventually(
        async () => expect(statuses(await askAll(site))).toEqual(Array(4).fill(200)),
        {
          withinMs: 1000,
        },
      )
      expect(app.errors).toEqual([])
    },
  )
})

/** A limit of each mode, each on a path of its own. */
function appOf(framework: Framework, store: Store): TestApp {
  const app = framework.app()
  const policy = fixedWindow({ name: 'quota', limit: 1000, windowMs: 600_000 })
  for (const { name, onStoreFailure } of modes()) {
    const skip = ({ path }: { readonly path: string }) => path !== `/${name}`
    app.limit({ store, policy, name, onStoreFailure, skip, key: () => 'k' })
  }
  app.answer(() => 'welcome')
  return app
}

function askAll(site: Site): Promise<readonly Reply[]> {
  return Promise.all(modes().map(({ name }) => inTime(site.ask(`/${name}`))))
}

function statuses(replies: readonly Reply[]): readonly number[] {
  return replies.map(({ status }) => status)
}
