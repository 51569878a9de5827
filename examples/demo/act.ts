import type { Store } from '@sluice/express'
import type { Express } from 'express'
import type { Terminal } from './terminal.ts'

/** One part of the demo: routes of its own, and a play that drives them with real requests. */
export interface Act {
  readonly title: string
  /** Adds the act's routes to the application. */
  mount(app: Express, store: Store): void
  /** Sends the requests and draws what came of them. Rejects with {@link Mishap} when it cannot. */
  play(stage: Stage): Promise<void>
  /** What to type to try the routes by hand. */
  curls(url: string): readonly string[]
  /** The same pictures as files, the same at every run, of an act that a simulated clock can play. */
  pictures?(): Promise<readonly Picture[]>
}

/** What an act plays on. */
export interface Stage {
  /** Where the application listens. */
  readonly url: string
  readonly store: Store
  /** How other processes get at what the store keeps; absent when it is this process's memory. */
  readonly redis?: SharedRedis
  readonly terminal: Terminal
}

export interface SharedRedis {
  readonly url: string
  readonly prefix: string
}

/** A file to write. */
export interface Picture {
  readonly fileName: string
  readonly svg: string
}

/** Something outside of the program is wrong; the message says what, and what to do about it. */
export class Mishap extends Error {}
