import { fixedWindow, rateLimit, redisStore } from '@sluice/express'
import express from 'express'
import { Redis } from 'ioredis'

const store = redisStore(new Redis({ lazyConnect: true }))
const policy = fixedWindow({ limit: 10, windowMs: 1000 })
express().use(
  rateLimit({ store, policy, key: (req) => req.path, refund: (_req, res) => res.statusCode < 400 }),
)
