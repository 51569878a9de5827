import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Mishap, type SharedRedis } from '../act.ts'

/** What the process is told at its start. */
export interface Settings {
  readonly redis: SharedRedis
  readonly bankUrl: string
  /** Short, so that one need not wait long until its silence is noticed. */
  readonly leaseMs: number
}

/** A second process with the same shop on the same Redis. */
export interface Victim extends Disposable {
  readonly url: string
  /** SIGKILL: no handler runs, nothing is cleaned up. Resolves when it is dead. */
  kill(): Promise<void>
}

const variable = 'DEMO_SHOP'

export function readSettings(): Settings {
  return JSON.parse(process.env[variable] ?? '{}')
}

export async function startVictim(settings: Settings): Promise<Victim> {
  const child = fork(fileURLToPath(new URL('shop-process.ts', import.meta.url)), {
    env: { ...process.env, [variable]: JSON.stringify(settings) },
  })
  const dead = once(child, 'exit')
  const [port] = await Promise.race([once(child, 'message'), dead.then(() => [])])
  if (port === undefined) throw new Mishap('The second process of the shop could not start.')
  return {
    url: `http://127.0.0.1:${port}`,
    async kill() {
      child.kill('SIGKILL')
      await dead
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
