import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { Site } from '../support/http.ts'
import type { Proxies } from './frameworks.ts'

const names = ['Express 4', 'Express 5', 'Koa 2', 'Koa 3']

describe.each(names)('R23: in %s, the warning of proxies', (name) => {
  let warnings: Error[]
  let events: unknown[]
  const collect = (warning: Error) => void warnings.push(warning)

  beforeEach(() => {
    warnings = []
    events = []
    process.on('warning', collect)
    // "Once a process" is kept in a module: fresh modules are a fresh process.
    vi.resetModules()
  })

  afterEach(() => {
    process.off('warning', collect)
  })

  async function serving(proxies: Proxies | undefined, use: (site: Site) => Promise<void>) {
    const { frameworks } = await import('./frameworks.ts')
    const { subscribe } = await import('@sluice/core')
    const framework = frameworks.find((one) => one.name === name)
    const app = framework?.app(proxies === undefined ? {} : { proxies })
    app?.limit()
    app?.answer(() => 'welcome')
    const stop = subscribe('sluice:rate-limit', (event) => {
      if (event.type === 'untrusted-proxy') events.push(event)
    })
    await using site = await app?.serve()
    if (!site) throw new Error(`no framework ${name}`)
    await use(site)
    stop()
  }

  const forwarded = (site: Site) =>
    site.ask('/', { headers: { 'X-Forwarded-For': '198.51.100.1' } })

  it.each([
    [undefined, 'no-proxy-trusted', /no proxy is trusted.* Set how many proxies/],
    ['any', 'every-hop-trusted', /every hop is trusted.* Set how many proxies/],
  ] as const)('comes once when trust is %s: %s', (proxies, reason, message) =>
    serving(proxies, async (site) => {
      await site.ask()
      expect(events).toEqual([])
      await forwarded(site)
      await forwarded(site)
      await eventually(() => expect(warnings).toHaveLength(1))
      expect(warnings[0]).toMatchObject({ code: 'SLUICE_UNTRUSTED_PROXY' })
      expect(warnings[0]?.message).toMatch(message)
      expect(events).toEqual([{ type: 'untrusted-proxy', reason }])
    }),
  )

  it('does not come when one proxy is trusted', () =>
    serving(1, async (site) => {
      await forwarded(site)
      expect(events).toEqual([])
      expect(warnings).toEqual([])
    }))
})
