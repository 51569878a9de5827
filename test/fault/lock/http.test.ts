import { once } from 'node:events'
import { redisStore, type Store } from '@sluice/express'
import { describe, expect, test } from 'vitest'
import type { Turn } from '../../e2e/idempotency/turns.ts'
import { frameworks, guards, type Locked } from '../../e2e/lock/apps.ts'
import { Stage } from '../../e2e/lock/stage.ts'
import { eventually } from '../../support/eventually.ts'
import type { Reply } from '../../support/http.ts'
import { connected, ioredis } from '../rate-limit/clients.ts'
import { inTime } from '../rate-limit/modes.ts'
import { outages, place } from '../rate-limit/outages.ts'

const failures = outages.filter(({ name }) => /paused|killed|cut off/.test(name))

describe.each(frameworks)('$name', (framework) => {
  test.concurrent.each(failures)(
    'L15, L11: with a Redis that is $name while locks are held, all is answered in time, and nothing as contended',
    async (outage) => {
      await using at = await place(outage)
      await using client = await connected(ioredis, at.link.port)
      const store = redisStore(client.redis)
      const stage = new Stage()
      await using app = await framework.serve({ routes: routesOn(store, stage) })
      const ask = (name: string) =>
        Promise.all(guards.map((guard) => app.site.ask(`/${guard}/${name}`)))
      await eventually(async () => expectAll(await ask('closed'), { status: 200 }))
      const before = fences(await ask('closed'))

      const holding = ask('holding')
      const finishing = ask('finishing')
      await stage.began(2 * guards.length)
      await outage.begin(at)
      const closed = inTime(ask('closed'))
      const waiting = inTime(ask('waiting'))
      const open = inTime(ask('open'))
      stage.go()

      expectAll(await inTime(finishing), { status: 200 })
      expectAll(await open, { status: 200, body: '{}' })
      for (const replies of [await closed, await waiting])
        for (const reply of replies) {
          expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
          expect(reply.body).toContain('urn:sluice:problem:store-unavailable')
        }
      expectAll(await holding, { status: 200, body: '{"lost":"silence"}' })

      await outage.end(at)
      await eventually(() => client.isReady(), { withinMs: 20_000 })
      for (const name of ['closed', 'waiting', 'open', 'finishing', 'holding'])
        await eventually(async () => {
          stage.go()
          expect(fences(await ask(name === 'closed' ? name : `${name}/again`))).not.toContain(
            undefined,
          )
        })
      const after = fences(await ask('closed'))
      for (const [index, fence] of after.entries())
        expect(fence).toBeGreaterThan(Number(before[index]))
      expect(app.errors).toEqual([])
      await store.close()
    },
  )
})

/** Of each guard: a quick handler, one that fails open, one that waits in line, one that outlives its lease, and one that ends amid the outage. */
function routesOn(store: Store, stage: Stage): Readonly<Record<string, Locked>> {
  const quick = (turn: Turn) => turn.json({ fence: turn.lease?.fence })
  const again = (turn: Turn) => turn.path.endsWith('/again')
  return Object.fromEntries(
    guards.flatMap((guard) => {
      const common = { guard, store, leaseMs: 2000 }
      const kinds: Readonly<Record<string, Omit<Locked, 'guard' | 'key'>>> = {
        closed: { handler: quick },
        open: { handler: quick, onStoreFailure: 'open' },
        waiting: { handler: quick, waitMs: 1000 },
        finishing: {
          handler: async (turn) => {
            if (!again(turn)) await stage.work()
            quick(turn)
          },
        },
        holding: {
          handler: async (turn) => {
            if (again(turn)) return quick(turn)
            const lease = turn.lease
            stage.begun++
            if (lease && !lease.signal.aborted) await once(lease.signal, 'abort')
            turn.json({ lost: lease?.signal.reason.reason })
          },
        },
      }
      return Object.entries(kinds).map(([kind, locked]) => [
        `/${guard}/${kind}`,
        { ...common, key: `${guard} ${kind}`, ...locked },
      ])
    }),
  )
}

function expectAll(replies: readonly Reply[], expected: Partial<Reply>): void {
  for (const reply of replies) expect(reply).toMatchObject(expected)
}

function fences(replies: readonly Reply[]): readonly (number | undefined)[] {
  return replies.map(({ status, body }) => (status === 200 ? JSON.parse(body).fence : undefined))
}
