import { EventEmitter, once } from 'node:events'
import { createLocker, type Store } from '@sluice/express'
import { eventually } from '../../support/eventually.ts'
import type { Turn } from '../idempotency/turns.ts'

/** Handlers that are at work until they are let go. */
export class Stage {
  readonly #events = new EventEmitter().setMaxListeners(0)
  /** Handlers that began. */
  begun = 0
  /** Those at work now, and the most that ever were at once. */
  working = 0
  most = 0

  /** At work; it answers when it was let go. */
  readonly handler = async (turn: Turn): Promise<void> => {
    await this.work()
    turn.json({ fence: turn.lease?.fence })
  }

  async work(): Promise<void> {
    this.begun++
    this.working++
    this.most = Math.max(this.most, this.working)
    await once(this.#events, 'go')
    this.working--
  }

  /** Resolves when so many began. */
  began(count = 1): Promise<boolean> {
    return eventually(() => this.begun >= count)
  }

  /** Lets go all that are at work. */
  go(): void {
    this.#events.emit('go')
  }
}

/** Looks at the keys of a store, by default that of the process: who holds them, how many stand in line; or holds one. */
export function watcher(store?: Store) {
  const locker = createLocker({ store })
  return {
    hold: (key = 'k') => locker.acquire(key),
    inspect: (key = 'k') => locker.inspect(key),
    isFree: (key = 'k') => eventually(async () => (await locker.inspect(key)) === undefined),
    hasWaiters: (waiters: number, key = 'k') =>
      eventually(async () => (await locker.inspect(key))?.waiters === waiters),
  }
}

/** Resolves when the server hears that a client has left. */
export function leavingOf({ req }: Turn): Promise<unknown> {
  return new Promise((resolve) => req.socket.once('close', resolve))
}

/** The errors that are not Koa's own report of a connection that was reset. */
export function mistakes(errors: readonly unknown[]): readonly unknown[] {
  return errors.filter((error) => !String(error).includes('ECONNRESET'))
}
