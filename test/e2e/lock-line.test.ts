import { describe, expect, it } from 'vitest'
import { RawClient } from './idempotency/raw-client.ts'
import { matrix } from './lock/matrix.ts'
import { servingOne, type Unguarded } from './lock/serving.ts'
import { mistakes, Stage } from './lock/stage.ts'

describe.concurrent.each(matrix)('%s', (_name, guard, framework, backend) => {
  const serving = (locked: Unguarded) => servingOne(framework, backend, { guard, ...locked })

  it('L15: twenty payments of one order run one at a time, none is refused, and fences rise', async () => {
    const stage = new Stage()
    const fences: number[] = []
    await using app = await serving({
      key: (turn) => `order:${turn.path.split('/')[1]}`,
      waitMs: 15_000,
      handler: async (turn) => {
        setTimeout(() => stage.go(), 2)
        await stage.work()
        fences.push(Number(turn.lease?.fence))
        turn.json({})
      },
    })
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => app.site.ask('/7', { method: 'POST' })),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(stage).toMatchObject({ begun: 20, most: 1 })
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    await app.isFree('order:7')
  })

  it('L15: a request that stood in line for all of waitMs is refused', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, waitMs: 1200 })
    await using _held = await app.hold()
    const askedAt = performance.now()
    expect((await app.site.ask()).status).toBe(423)
    expect(performance.now() - askedAt).toBeGreaterThan(1190)
    expect(stage.begun).toBe(0)
  })

  it.each(['end', 'reset'] as const)(
    'L15, L6: a client that leaves the line by %s is gone from it at once, and nothing runs for it',
    async (how) => {
      const stage = new Stage()
      await using app = await serving({ handler: stage.handler, waitMs: 60_000 })
      const first = app.site.ask()
      await stage.began()
      await using client = await RawClient.to(app.site)
      client.post(undefined)
      await app.hasWaiters(1)
      await client.leave(how)
      await app.hasWaiters(0)
      stage.go()
      await first
      await app.isFree()
      expect(stage.begun).toBe(1)
      expect(mistakes(app.errors)).toEqual([])
    },
  )

  it('L15, L6: a client whose request waits behind another of its connection leaves the line too', async () => {
    const stage = new Stage()
    await using app = await serving({
      key: (turn) => turn.path,
      handler: stage.handler,
      waitMs: 60_000,
    })
    const first = app.site.ask('/busy')
    await using client = await RawClient.to(app.site)
    await stage.began()
    client.post(undefined, '/slow', 'keep-alive')
    await stage.began(2)
    client.post(undefined, '/busy')
    await app.hasWaiters(1, '/busy')
    await client.leave()
    await app.hasWaiters(0, '/busy')
    stage.go()
    await first
    await app.isFree('/busy')
    expect(stage.begun).toBe(2)
  })
})
