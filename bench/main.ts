import { writeFile } from 'node:fs/promises'
import { type Arguments, readArguments, usage } from './arguments.ts'
import { environment } from './environment.ts'
import type { Plan } from './harness.ts'
import { startRedis } from './redis.ts'
import { absoluteTable, type Ran, ratioTable } from './report.ts'
import { bytes } from './suites/bytes.ts'
import { delaySuites } from './suites/delay.ts'
import { delayExact } from './suites/delay-exact.ts'
import { delayLateness } from './suites/delay-lateness.ts'
import { denyCache } from './suites/deny-cache.ts'
import { express } from './suites/express.ts'
import { idempotencySuites } from './suites/idempotency.ts'
import { idempotencyExact } from './suites/idempotency-exact.ts'
import { koa } from './suites/koa.ts'
import { callers64, oneCaller } from './suites/library.ts'
import { lockWaiting } from './suites/lock-waiting.ts'
import { lockSuites } from './suites/locks.ts'
import { memory } from './suites/memory.ts'
import { policies } from './suites/policies.ts'
import type { Suite } from './suites/suite.ts'
import { markdownTable, plainTable, type Table } from './table.ts'

const suites: readonly Suite[] = [
  koa,
  express,
  callers64,
  oneCaller,
  policies,
  denyCache,
  memory,
  bytes,
  ...idempotencySuites,
  idempotencyExact,
  ...lockSuites,
  lockWaiting,
  ...delaySuites,
  ...delayExact,
  ...delayLateness,
]
const fullPlan: Plan = {
  rounds: 7,
  roundMs: 1000,
  warmUpMs: 1000,
  prepareAtMost: 100_000,
  limit: 2000,
  budgetMs: 42_000,
}
const quickPlan: Plan = {
  rounds: 3,
  roundMs: 250,
  warmUpMs: 200,
  prepareAtMost: 5000,
  limit: 400,
  budgetMs: 6000,
}

await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<void> {
  let chosen: Arguments
  try {
    chosen = readArguments(words)
  } catch (error) {
    process.stderr.write(`${String(error)}\n${usage}`)
    process.exitCode = 2
    return
  }
  const wanted = suites.filter(({ name }) => name.includes(chosen.only))
  if (wanted.length === 0) {
    process.stderr.write(`no suite is named so: ${suites.map(({ name }) => name).join(', ')}\n`)
    process.exitCode = 2
    return
  }
  const facts = environment(['pnpm bench', ...words].join(' '))
  const ran = await run(wanted, chosen)
  say(render({ ran, quick: chosen.quick }, facts, plainTable, (title) => title.toUpperCase()))
  if (chosen.markdown === undefined) return
  const page = render({ ran, quick: chosen.quick }, facts, markdownTable, (title) => `## ${title}`)
  if (chosen.markdown === '') say(page)
  else await writeFile(chosen.markdown, `# Benchmarks\n\n${page}`)
}

async function run(wanted: readonly Suite[], { quick }: Arguments): Promise<Ran[]> {
  const redis = await startRedis()
  const interrupt = () => void redis.stop().finally(() => process.exit(130))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  const ran: Ran[] = []
  try {
    for (const suite of wanted) {
      process.stderr.write(`${suite.name}: ${suite.conditions}\n`)
      const plan = quick ? quickPlan : fullPlan
      ran.push({ suite, report: await suite.run({ redis, plan }) })
    }
    return ran
  } finally {
    await redis.stop()
  }
}

function render(
  { ran, quick }: { readonly ran: readonly Ran[]; readonly quick: boolean },
  facts: ReturnType<typeof environment>,
  table: (table: Table) => string,
  heading: (title: string) => string,
): string {
  const lines = facts.map(([name, value]) =>
    table === markdownTable ? `- ${name}: ${value}` : `${name}: ${value}`,
  )
  const details = ran
    .filter(({ report }) => report.results !== undefined)
    .flatMap((one) => [
      '',
      heading(one.suite.name),
      '',
      `${one.suite.conditions}`,
      '',
      table(absoluteTable(one)),
    ])
  return [...lines, '', table(ratioTable(ran, quick)), ...details].join('\n')
}

function say(text: string): void {
  process.stdout.write(text)
}
