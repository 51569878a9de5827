import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import Koa2 from 'koa2'
import { describe, expect, test } from 'vitest'
import { type App, Site } from '../../support/http.ts'

describe('a site', () => {
  const apps: Record<string, App> = {
    'Express 4': express4().get('/', (req, res) => res.send(req.ip)),
    'Express 5': express().get('/', (req, res) => res.send(req.ip)),
    'Koa 2': new Koa2().use((ctx) => {
      ctx.body = ctx.ip
    }),
    'Koa 3': new Koa().use((ctx) => {
      ctx.body = ctx.ip
    }),
  }

  test.each(Object.entries(apps))('serves %s', async (_name, app) => {
    await using site = await Site.serve(app)
    const reply = await site.ask('/')
    expect(reply).toMatchObject({ status: 200, body: '127.0.0.1' })
    expect(reply.rawHeaders).toContain('Content-Length')
    await using dual = await Site.serve(app, { host: '::' })
    expect((await dual.ask('/')).body).toBe('::ffff:127.0.0.1')
  })

  test('serves a Unix socket, where callers have no address', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-site-'))
    try {
      const app: App = (req, res) => res.end(typeof req.socket.remoteAddress)
      await using site = await Site.serve(app, { socketPath: join(folder, 'socket') })
      expect((await site.ask('/')).body).toBe('undefined')
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
