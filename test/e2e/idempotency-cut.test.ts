import { PassThrough, pipeline } from 'node:stream'
import { memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { inspector } from './idempotency/inspector.ts'
import { RawClient } from './idempotency/raw-client.ts'
import { type Handler, rawly } from './idempotency/turns.ts'

const tick = () => new Promise(setImmediate)

describe.each(frameworks)('in $name', (framework) => {
  it.each<[string, Handler]>([
    [
      'a piped stream that dies',
      (turn) => {
        const stream = new PassThrough()
        stream.on('error', () => {})
        stream.write('half of ')
        turn.stream(stream)
        setTimeout(() => stream.destroy(new Error('died')), 20)
      },
    ],
    [
      'a pipeline that dies',
      (turn) => {
        const stream = new PassThrough()
        stream.write('half of ')
        turn.raw((res) => pipeline(stream, res, () => {}))
        setTimeout(() => stream.destroy(new Error('died')), 20)
      },
    ],
    [
      'a response that its handler destroys',
      rawly((res) => {
        res.write('half of ')
        setTimeout(() => res.destroy(), 20)
      }),
    ],
    [
      'a connection that the handler destroys',
      rawly((res) => {
        res.write('half of ')
        setTimeout(() => res.socket?.destroy(), 20)
      }),
    ],
    [
      'an end before the promised length',
      rawly((res) => {
        res.setHeader('Content-Length', 100)
        res.end('half of ')
      }),
    ],
  ])('I9: %s is unknown at once', async (_name, handler) => {
    const store = memoryStore()
    await using app = await framework.serve({ store, handler })
    await using client = await RawClient.to(app.site)
    client.post('k')
    const state = inspector(store)
    await eventually(async () => expect(await state()).toBe('unknown'), { withinMs: 1000 })
    const retry = await post(app.site, { key: 'k', body: '{}' })
    expect(retry.status).toBe(409)
    expect(JSON.parse(retry.text).type).toBe('urn:sluice:problem:idempotency-outcome-unknown')
  })

  it('I10: an error after the first bytes is not stored as complete', async () => {
    const store = memoryStore()
    await using app = await framework.serve({
      store,
      handler: async (turn) => {
        turn.raw((res) => res.write('half of '))
        await tick()
        throw new Error('after the first bytes')
      },
    })
    await using client = await RawClient.to(app.site)
    client.post('k')
    const state = inspector(store)
    await eventually(async () => expect(await state()).toBe('unknown'), { withinMs: 1000 })
  })
})
