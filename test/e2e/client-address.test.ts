import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  addressKey,
  createRateLimiter,
  fixedWindow,
  memoryStore,
  type RateLimiter,
  type Store,
} from '@sluice/express'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ServeOptions, Site } from '../support/http.ts'
import { frameworks, type Options, type Proxies } from './frameworks.ts'

const ten = fixedWindow({ limit: 10, windowMs: 60_000 })

describe.each(frameworks)('R23: the default key in $name', (framework) => {
  let store: Store
  let limiter: RateLimiter

  beforeEach(() => {
    store = memoryStore()
    limiter = createRateLimiter({ name: 'quota', policy: ten, store })
  })

  async function serving(
    { proxies, options, ...serve }: ServeOptions & { proxies?: Proxies; options?: Options },
    use: (site: Site) => Promise<void>,
  ): Promise<void> {
    const app = framework.app(proxies === undefined ? {} : { proxies })
    app.limit({ name: 'quota', policy: ten, store, ...options })
    app.answer(() => 'welcome')
    await using site = await app.serve(serve)
    await use(site)
  }

  const spent = async (address?: string, prefix?: number) =>
    10 - (await limiter.peek(addressKey(address, prefix))).remaining

  const from = (site: Site, forwarded: string) =>
    site.ask('/', { headers: { 'X-Forwarded-For': forwarded } })

  it('is one for a caller in IPv4 and the same caller as a dual-stack server sees it', async () => {
    await serving({}, async (site) => {
      await site.ask()
    })
    await serving({ host: '::' }, async (site) => {
      await site.ask()
    })
    expect(await spent('127.0.0.1')).toBe(2)
  })

  it('is the caller, not what it claims, when no proxy is trusted', () =>
    serving({}, async (site) => {
      await from(site, '198.51.100.1')
      expect(await spent('127.0.0.1')).toBe(1)
    }))

  it('is the address that the trusted proxy saw, whatever the caller claimed before', () =>
    serving({ proxies: 1 }, async (site) => {
      await from(site, '203.0.113.9, 198.51.100.1')
      await from(site, '198.51.100.1')
      await from(site, '::ffff:198.51.100.1')
      expect(await spent('198.51.100.1')).toBe(3)
      expect(await spent('203.0.113.9')).toBe(0)
    }))

  it('is one for the 56 first bits of IPv6, or as many as wanted', async () => {
    await serving({ proxies: 1 }, async (site) => {
      await from(site, '2001:db8:7:ab00::1')
      await from(site, '2001:db8:7:abff:ffff::2')
      await from(site, '2001:db8:7:ac00::1')
      expect(await spent('2001:db8:7:ab00::')).toBe(2)
    })
    await serving({ proxies: 1, options: { ipv6Prefix: 64 } }, async (site) => {
      await from(site, '2001:db8:7:ab00::1')
      await from(site, '2001:db8:7:ab01::1')
      expect(await spent('2001:db8:7:ab00::', 64)).toBe(1)
    })
  })

  it('is one for all callers on a Unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-'))
    try {
      await serving({ socketPath: join(folder, 'socket') }, async (site) => {
        await site.ask()
        await site.ask()
        expect(await spent(undefined)).toBe(2)
      })
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
