import { describe, expect, it } from 'vitest'
import { frameworks } from './lock/apps.ts'
import { matrix } from './lock/matrix.ts'
import { servingOne, type Unguarded } from './lock/serving.ts'
import { Stage, watcher } from './lock/stage.ts'

const contended = JSON.stringify({
  type: 'urn:sluice:problem:lock-contended',
  title: 'The resource is locked by another request',
  status: 423,
  detail: 'Nothing was run. Try again when the other request is done.',
})

describe.concurrent.each(matrix)('%s', (_name, guard, framework, backend) => {
  const serving = (locked: Unguarded) => servingOne(framework, backend, { guard, ...locked })

  it('L15: lets one request of a key go on, and refuses the others with 423 and a true Retry-After', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler })
    const first = app.site.ask()
    await stage.began()
    const second = await app.site.ask('/', { method: 'POST' })
    expect(second).toMatchObject({ status: 423, body: contended })
    expect(second.headers['content-type']).toBe('application/problem+json')
    expect(second.headers['content-length']).toBe(String(contended.length))
    expect(Number(second.headers['retry-after'])).toBeOneOf([9, 10])
    stage.go()
    expect(await first).toMatchObject({ status: 200 })
    await app.isFree()
    const third = app.site.ask()
    await stage.began(2)
    stage.go()
    expect(await third).toMatchObject({ status: 200 })
    expect(app.errors).toEqual([])
  })

  it('L15: a refusal of HEAD has the same fields, and no body', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, leaseMs: 900, renew: false })
    const first = app.site.ask()
    await stage.began()
    const refused = await app.site.ask('/', { method: 'HEAD' })
    expect(refused).toMatchObject({ status: 423, body: '' })
    expect(refused.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'content-length': String(contended.length),
      'retry-after': '1',
    })
    stage.go()
    await first
  })

  it('L15: the status of a refusal is an option, and its document says so', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, status: 409 })
    const first = app.site.ask()
    await stage.began()
    const refused = await app.site.ask()
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.body)).toMatchObject({
      type: 'urn:sluice:problem:lock-contended',
      status: 409,
    })
    stage.go()
    await first
  })

  it('L15: different keys do not exclude each other; of several keys each one does', async () => {
    const stage = new Stage()
    await using app = await serving({
      key: async (turn) => turn.path.slice(1).split('+'),
      handler: stage.handler,
    })
    const both = app.site.ask('/a+b')
    await stage.began()
    const other = app.site.ask('/c')
    await stage.began(2)
    expect((await app.site.ask('/b')).status).toBe(423)
    expect((await app.site.ask('/c+a')).status).toBe(423)
    stage.go()
    expect(await Promise.all([both, other])).toMatchObject([{ status: 200 }, { status: 200 }])
  })
})

const ofProcess = watcher()

describe.concurrent.each(frameworks)('$name', (framework) => {
  it('L15: guards without a store share the one of the process, so that two routes exclude each other', async () => {
    const stage = new Stage()
    const key = `shared:${framework.name}`
    const { handler } = stage
    await using app = await framework.serve({
      routes: {
        '/lock': { guard: 'lock', key, handler },
        '/with': { guard: 'withLock', key: () => key, handler },
        '/class': { guard: 'Locked', key: [key], handler },
      },
    })
    for (const [count, holder] of ['/lock', '/with', '/class'].entries()) {
      const held = app.site.ask(holder)
      await stage.began(count + 1)
      for (const path of ['/lock', '/with', '/class'])
        expect((await app.site.ask(path)).status).toBe(423)
      stage.go()
      expect((await held).status).toBe(200)
      await ofProcess.isFree(key)
    }
  })
})
