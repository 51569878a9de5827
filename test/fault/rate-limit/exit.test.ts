import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Place, place } from './outages.ts'

const SERVICE = fileURLToPath(new URL('children/service.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Rejections of three limiters: an aborted call each, and of a store that has failed peek, refund and reset too. */
const [aborted, all] = [3, 12]

const states = [
  {
    state: 'is absent',
    begin: async ({ link, server }: Place) => {
      link.refuse()
      await server.kill()
    },
    rejections: [all, all],
  },
  {
    state: 'is paused',
    begin: async ({ server }: Place) => server.pause(),
    rejections: [all, all],
  },
  {
    state: 'is out of memory',
    begin: ({ server }: Place) => server.command('CONFIG', 'SET', 'maxmemory', 1),
    // What needs no memory works until the circuit is open.
    rejections: [aborted, all],
  },
]

describe.concurrent.each(states)('a service whose Redis $state', ({ begin, rejections }) => {
  test('R31: leaves no rejection unhandled, and ends by itself once its clients disconnect', async () => {
    await using at = await place()
    await begin(at)
    const args = ['--import', 'tsx', SERVICE, String(at.link.port)]
    const service = spawn(process.execPath, args, { cwd: ROOT, timeout: 30_000 })
    const [output, errors, [code]] = await Promise.all([
      text(service.stdout),
      text(service.stderr),
      once(service, 'exit'),
    ])
    expect(errors).toBe('')
    expect(code).toBe(0)
    expect(JSON.parse(output)).toEqual([rejections, rejections])
  })
})
