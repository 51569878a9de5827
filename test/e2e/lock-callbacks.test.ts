import { ConfigurationError, hashKey, type LockEvent, subscribe } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { matrix } from './lock/matrix.ts'
import { servingOne, type Unguarded } from './lock/serving.ts'
import { Stage } from './lock/stage.ts'

describe.concurrent.each(matrix)('%s', (name, guard, framework, backend) => {
  const serving = (locked: Unguarded) => servingOne(framework, backend, { guard, ...locked })

  it('L11: a callback that gives no key is a ConfigurationError for the error handler, and nothing runs', async () => {
    const stage = new Stage()
    const wrong: unknown[] = ['', 7, undefined, Promise.resolve(null), [], ['a', '']]
    await using app = await serving({
      key: (turn) => wrong[Number(turn.path.slice(1))] as string,
      handler: stage.handler,
    })
    for (const index of wrong.keys()) expect((await app.site.ask(`/${index}`)).status).toBe(500)
    expect(app.errors).toEqual(Array(wrong.length).fill(expect.any(ConfigurationError)))
    for (const error of app.errors)
      expect((error as Error).message).toMatch(new RegExp(`^${guard}: \`key`))
    expect(stage.begun).toBe(0)
  })

  it('L15: what a callback throws goes to the error handler as it is, and nothing is locked', async () => {
    const mistake = new TypeError('no such order')
    const refuse = () => {
      throw mistake
    }
    for (const callbacks of [{ key: refuse }, { metadata: refuse }]) {
      await using app = await serving({ ...callbacks, handler: () => {} })
      expect((await app.site.ask()).status).toBe(500)
      expect(app.errors).toEqual([mistake])
      expect(app.errors[0]).toBe(mistake)
      expect(await app.inspect()).toBeUndefined()
    }
  })

  it('L16, L17: the handler sees its lease, and inspect shows what metadata tells of the request', async () => {
    const stage = new Stage()
    const seen: unknown[] = []
    await using app = await serving({
      metadata: (turn) => ({ path: turn.path }),
      handler: async (turn) => {
        const { key, signal } = turn.lease ?? {}
        seen.push(key, signal?.aborted, Number(turn.lease?.remainingMs()) > 9000)
        await stage.handler(turn)
      },
    })
    const first = app.site.ask('/orders')
    await stage.began()
    const state = await app.inspect()
    expect(state?.metadata).toEqual({ path: '/orders' })
    stage.go()
    expect(JSON.parse((await first).body)).toEqual({ fence: state?.fence })
    expect(seen).toEqual(['k', false, true])
  })

  it('L15: events tell of the lock, with its key hashed', async () => {
    const key = `secret of ${name}`
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => {
      if (event.keyHash === hashKey(key)) events.push(event)
    })
    await using app = await serving({ key, handler: (turn) => turn.json({}) })
    await app.site.ask()
    await app.isFree(key)
    stop()
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
    expect(JSON.stringify(events)).not.toContain('secret')
  })
})
