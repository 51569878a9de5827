import { describe, expect, it } from 'vitest'
import { type Compression, frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { backends } from './idempotency/stores.ts'

const compressions: readonly Compression[] = ['absent', 'before', 'after']
const matrix = frameworks.flatMap((framework) =>
  backends.flatMap((backend) =>
    compressions.map(
      (compression) =>
        [
          `${framework.name} on ${backend.name}, compression ${compression}`,
          framework,
          backend,
          compression,
        ] as const,
    ),
  ),
)

describe.each(matrix)('%s', (_name, framework, backend, compression) => {
  it('I1: smoke', async () => {
    await using open = backend.open()
    let runs = 0
    await using app = await framework.serve({
      store: open.store,
      compression,
      handler: (turn) => {
        runs++
        turn.status(201)
        turn.set('Location', '/orders/1')
        turn.json({ run: runs, text: 'x'.repeat(100) })
      },
    })
    const first = await post(app.site, { key: '"a"', headers: { 'Accept-Encoding': 'gzip' } })
    const second = await post(app.site, { key: 'a' })
    expect(app.errors).toEqual([])
    expect(first.status).toBe(201)
    expect(second.text).toBe(first.text)
    expect(second.headers['idempotency-replayed']).toBe('true')
  })
})
