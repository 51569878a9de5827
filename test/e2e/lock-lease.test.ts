import { once } from 'node:events'
import { LeaseLostError, memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { matrix } from './lock/matrix.ts'
import type { Unguarded } from './lock/serving.ts'
import { Stage, watcher } from './lock/stage.ts'

const inMemory = matrix.filter(([name]) => name.endsWith('memory'))

describe.concurrent.each(inMemory)('%s', (_name, guard, framework) => {
  async function serving(locked: Unguarded) {
    const store = memoryStore()
    const app = await framework.serve({ routes: { '/': { guard, key: 'k', store, ...locked } } })
    return { ...app, ...watcher(store) }
  }

  it('L15: with renew, the default, the lease lasts as long as the handler is at work', async () => {
    const stage = new Stage()
    await using app = await serving({ leaseMs: 1000, handler: stage.handler })
    const first = app.site.ask()
    await stage.began()
    const { fence } = (await app.inspect()) ?? {}
    await eventually(async () => Number((await app.inspect())?.heldMs) > 2200)
    expect((await app.site.ask()).status).toBe(423)
    expect(await app.inspect()).toMatchObject({ fence })
    stage.go()
    expect((await first).status).toBe(200)
    await app.isFree()
  })

  it.each([
    ['without renew', { leaseMs: 800, renew: false }, 'silence'],
    ['at maxHoldMs', { leaseMs: 800, maxHoldMs: 1200 }, 'max-hold'],
  ] as const)(
    'L15, L16: a lease that is lost %s aborts the signal of the handler, and nothing else',
    async (_name, options, reason) => {
      await using app = await serving({
        ...options,
        handler: async (turn) => {
          const { signal } = turn.lease ?? {}
          if (signal && !signal.aborted) await once(signal, 'abort')
          turn.json({
            reason: signal?.reason.reason,
            isOurs: signal?.reason instanceof LeaseLostError,
          })
        },
      })
      const reply = await app.site.ask()
      expect(reply.status).toBe(200)
      expect(JSON.parse(reply.body)).toEqual({ reason, isOurs: true })
      await app.isFree()
    },
  )
})
