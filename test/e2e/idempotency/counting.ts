import { memoryStore, type Store } from '@sluice/express'
import type { AppOptions, Framework, ServedSite } from './apps.ts'
import { type Answer, type PostOptions, post } from './client.ts'

/** An app that counts the runs of its handler. */
export interface CountingApp extends ServedSite {
  readonly store: Store
  runs(): number
  ask(options: PostOptions): Promise<Answer>
}

/** Serves apps whose handler, if they are given none, answers with the number of its run. */
export function countingOn(framework: Framework) {
  return async (options: Partial<AppOptions> = {}): Promise<CountingApp> => {
    let runs = 0
    const { store = memoryStore(), handler = (turn) => turn.json({ run: runs }) } = options
    const served = await framework.serve({
      ...options,
      store,
      handler: (turn) => {
        runs++
        return handler(turn)
      },
    })
    return { ...served, store, runs: () => runs, ask: (asked) => post(served.site, asked) }
  }
}
