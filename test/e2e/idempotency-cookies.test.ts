import { once } from 'node:events'
import { expect, it } from 'vitest'
import { frameworks } from './idempotency/apps.ts'
import { countingOn } from './idempotency/counting.ts'

it('I4: cookies without Authorization and scope give one warning a process, and nothing else does', async () => {
  const warnings: unknown[] = []
  const listener = (warning: Error) => warnings.push(Reflect.get(warning, 'code'))
  process.on('warning', listener)
  const cookie = { Cookie: 'session=1' }
  for (const framework of frameworks) {
    await using scoped = await countingOn(framework)({ scope: () => 'ann' })
    await scoped.ask({ key: 'k', headers: cookie })
    await using app = await countingOn(framework)()
    await app.ask({ key: 'k' })
    await app.ask({ headers: cookie })
    await app.ask({ key: 'j', headers: { ...cookie, Authorization: 'Basic ann' } })
  }
  await new Promise(setImmediate)
  expect(warnings).toEqual([])
  for (const framework of frameworks) {
    await using app = await countingOn(framework)()
    const warned = warnings.length === 0 && once(process, 'warning')
    await app.ask({ key: 'k', headers: cookie })
    await warned
    await app.ask({ key: 'j', headers: cookie })
  }
  await new Promise(setImmediate)
  expect(warnings).toEqual(['SLUICE_IDEMPOTENCY_SCOPE'])
  process.off('warning', listener)
})
