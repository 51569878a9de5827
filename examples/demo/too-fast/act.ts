import { rateLimit, type Store } from '@sluice/express'
import type { Express } from 'express'
import type { Act, Picture, Stage } from '../act.ts'
import { explainStoreFailure } from '../store-failure.ts'
import type { Terminal } from '../terminal.ts'
import { arrivals, LIMIT, RUN_MS, WINDOW_MS } from './arrivals.ts'
import { contenders } from './contenders.ts'
import { axis, draw, drawArrivals, drawLive, summary } from './drawing.ts'
import type { Outcome } from './outcome.ts'
import { drawSvg } from './picture.ts'
import { simulate } from './simulation.ts'
import { COLUMN_MS } from './timeline.ts'
import { drive, type Passed } from './traffic.ts'

/** Five limiters, one a route, under the same traffic. */
export const tooFast: Act = { title: 'too fast', mount, play, curls, pictures }

function mount(app: Express, store: Store): void {
  for (const { policy } of contenders) {
    const limit = rateLimit({
      name: policy.algorithm,
      policy,
      store,
      onStoreFailure: 'closed', // a picture of some other store's decisions would be a lie
    })
    app.get(`/${policy.algorithm}`, limit, (req, res) => {
      res.json({ waitedMs: req.rateLimit?.delayMs ?? 0 } satisfies Passed)
    })
  }
}

async function play({ url, terminal }: Stage): Promise<void> {
  const outcomes: Outcome[][] = contenders.map(() => [])
  const seconds = RUN_MS / 1000
  terminal.print([
    `${LIMIT} requests in ${WINDOW_MS / 1000} s, limited in five ways. Each gets the same ${arrivals.length} requests`,
    `over real HTTP, which takes ${seconds} s. One step of a bar is one request.`,
    '',
  ])
  await explainStoreFailure(() => watched(url, outcomes, terminal))
  terminal.print([axis(), ...drawArrivals(outcomes[0] ?? [], terminal)])
  for (const [index, contender] of contenders.entries())
    terminal.print(['', ...draw(contender, outcomes[index] ?? [], terminal)])
  terminal.print(['', ...summary(contenders, outcomes, terminal)])
}

/** Drives the routes; on a terminal one sees the pictures grow. */
async function watched(url: string, outcomes: Outcome[][], terminal: Terminal): Promise<void> {
  const urls = contenders.map(({ policy }) => `${url}/${policy.algorithm}`)
  const show = () => terminal.move(drawLive(contenders, outcomes, terminal))
  const timer = setInterval(show, COLUMN_MS)
  try {
    await drive(urls, (route, outcome) => outcomes[route]?.push(outcome))
  } finally {
    clearInterval(timer)
    terminal.move([])
  }
}

function curls(url: string): readonly string[] {
  const routes = contenders.map(({ policy }) => policy.algorithm)
  return [
    `curl -i ${url}/${routes[0]}`,
    ...routes
      .slice(0, -1)
      .map(
        (route) =>
          `seq 15 | xargs -I{} curl -s -o /dev/null -w '%{http_code} ' ${url}/${route}; echo`,
      ),
    `seq 15 | xargs -P15 -I{} curl -s -o /dev/null -w '%{http_code} after %{time_total} s\\n' ${url}/${routes.at(-1)}`,
  ]
}

async function pictures(): Promise<readonly Picture[]> {
  return Promise.all(
    contenders.map(async (contender) => ({
      fileName: `${contender.policy.algorithm}.svg`,
      svg: drawSvg(contender, await simulate(contender)),
    })),
  )
}
