import { describe, expect, it } from 'vitest'
import type { Turn } from './idempotency/turns.ts'
import { type AppOptions, guards } from './lock/apps.ts'
import { places } from './lock/matrix.ts'
import { serving as servingOn } from './lock/serving.ts'
import { Stage } from './lock/stage.ts'

describe.concurrent.each(places)('%s', (_name, framework, backend) => {
  const isExpress = framework.family === 'express'
  const serving = (routes: AppOptions['routes']) => servingOn(framework, backend, routes)

  it.each(guards)(
    'L15: a second guard of the same key on one request is refused after its waitMs (%s)',
    async (guard) => {
      const stage = new Stage()
      await using app = await serving({
        '/': { guard: 'lock', key: 'k', handler: (_turn, next) => next() },
        '/in': { guard, key: ['k', 'j'], waitMs: 1000, handler: stage.handler },
      })
      expect((await app.site.ask('/in')).status).toBe(423)
      expect(stage.begun).toBe(0)
      await app.isFree()
    },
  )

  it.each(guards)(
    'L16: of several guards, each handler sees the lease of the nearest (%s)',
    async (guard) => {
      const keys: unknown[] = []
      const note = (turn: Turn) => keys.push(turn.lease?.key)
      await using app = await serving({
        '/': {
          guard: 'lock',
          key: 'outer',
          handler: async (turn, next) => {
            note(turn)
            await next()
            if (!isExpress) note(turn)
          },
        },
        '/in': {
          guard,
          key: 'inner',
          handler: (turn) => {
            note(turn)
            turn.json({})
          },
        },
      })
      expect((await app.site.ask('/in')).status).toBe(200)
      await app.isFree('outer')
      await app.isFree('inner')
      expect(keys).toEqual(isExpress ? ['outer', 'inner'] : ['outer', 'inner', 'outer'])
    },
  )
})
