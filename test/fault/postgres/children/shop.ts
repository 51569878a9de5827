import { type PostgresClient, type PostgresPool, pglitePool } from '@sluice/postgres'
import { Pool } from 'pg'
import { answerParent } from '../../../support/answer-parent.ts'
import { Site } from '../../../support/http.ts'
import { endLeases, happened, shop } from '../shop.ts'

/** A shop in a process that dies at its `fatal`th statement: before it is sent, on the way, or with its reply. */
const [where = '', fatal, phase] = process.argv.slice(2)
let left = Number(fatal)

class MortalPool implements PostgresPool {
  readonly #pool: PostgresPool

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  query(text: string, values?: unknown[]) {
    return mortally(() => this.#pool.query(text, values))
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect()
    return {
      query: (text, values) => mortally(() => client.query(text, values)),
      release: (error) => client.release(error),
    }
  }
}

async function mortally<T>(send: () => Promise<T>): Promise<T> {
  left--
  const isFatal = left === 0
  if (isFatal && phase === 'before') die()
  const reply = send()
  if (isFatal && phase === 'during') setImmediate(die)
  await reply
  if (isFatal && phase === 'after') die()
  return reply
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
  for (;;); // nothing more happens here
}

async function embedded(folder: string): Promise<PostgresPool> {
  const { PGlite } = await import('@electric-sql/pglite')
  return pglitePool(await PGlite.create(folder))
}

const isServer = where.startsWith('postgres:')
const pool = isServer ? new Pool({ connectionString: where }) : await embedded(where)
const site = await Site.serve(shop(new MortalPool(pool)))

answerParent(async (key: string | undefined) => {
  if (key === undefined) return site.url
  await endLeases(pool, key)
  return happened(pool, key)
})
