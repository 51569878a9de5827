/** The package brings no types; this is the part that the benchmark uses. */
declare module 'koa-ratelimit' {
  import type { Redis } from 'ioredis'
  import type { Context, Middleware } from 'koa'

  interface Options {
    readonly driver: 'redis'
    readonly db: Redis
    readonly duration: number
    readonly max: number
    readonly id: (ctx: Context) => string
  }
  export default function ratelimit(options: Options): Middleware
}
