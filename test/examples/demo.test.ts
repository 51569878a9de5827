import { on, once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { Mishap } from '../../examples/demo/act.ts'
import { Terminal } from '../../examples/demo/terminal.ts'
import { check, countOf } from '../../examples/demo/twice/counts.ts'
import { COPIES, type Got, Order } from '../../examples/demo/twice/order.ts'
import { freePort } from '../support/free-port.ts'
import { ROOT, type RunOptions, runExample, startExample } from '../support/run-example.ts'

const runDemo = (options?: RunOptions) => runExample('demo/main.ts', options)
const TITLES = ['fixed window', 'sliding window', 'sliding log', 'token bucket', 'leaky bucket']

describe('the demo', { timeout: 150_000 }, () => {
  it.concurrent.for([
    ['in memory', {}],
    ['in Redis', { REDIS_URL: `redis://127.0.0.1:${inject('redisPort')}` }],
  ] as const)(
    'draws what passed and was refused, %s, and ends by itself',
    async ([place, env], { expect }) => {
      const { code, stdout, stderr } = await runDemo({ env: { ...env, FORCE_COLOR: '1' } })
      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(stdout).toContain(`Limits and results kept ${place}`)
      for (const title of TITLES) {
        expect(stdout).toMatch(
          new RegExp(`^${title} +\\w+\\(\\{.*\\}\\)\\n(.*\\n)?passed +.*[▁-█]`, 'm'),
        )
        const [passed = 0, refused = 0] = summaryOf(title, stdout)
        expect(passed + refused, `all requests for the ${title}`).toBe(86)
        expect(passed, title).toBeGreaterThanOrEqual(12)
        expect(refused, title).toBeGreaterThan(0)
      }
      expect(stdout).toMatch(/^waiting +.*[▁-█]/m)
      expect(stdout).toMatch(/^leaky bucket .* \d\.\d s$/m)
      expectOneExecutionAnOrder(stdout)
      expectOneAtATime(stdout)
      expectNoneLost(stdout)
      expect(stdout.includes('✗ SIGKILL'), 'a process is killed').toBe('REDIS_URL' in env)
      expect(stdout.includes('Set REDIS_URL'), 'says what it needs').toBe(!('REDIS_URL' in env))
      expect(stdout, 'colours in a pipe').not.toContain('\x1b')
      expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([])
    },
  )

  it('says what is wrong, and what to do, when REDIS_URL leads nowhere', async () => {
    const url = `redis://user:secret@127.0.0.1:${await freePort()}`
    const { code, stdout, stderr } = await runDemo({ env: { REDIS_URL: url } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/REDIS_URL is .* cannot be used: .*ECONNREFUSED[\s\S]*unset REDIS_URL/)
    expect(stdout + stderr).not.toContain('secret')
  })

  it('explains its options when it does not know one', async () => {
    const { code, stderr } = await runDemo({ args: ['--sevre'] })
    expect(code).toBe(1)
    expect(stderr).toMatch(/--sevre[\s\S]*Usage: demo/)
  })

  it('keeps the server up with --serve, prints what to type, and stops on Ctrl-C', async () => {
    const demo = startExample('demo/main.ts', { args: ['--serve'] })
    onTestFinished(() => void demo.kill('SIGKILL'))
    const printed = await until(demo.stdout, 'Ctrl-C')
    const [url = ''] = /http:\S+\/fixed-window/.exec(printed) ?? []
    expect(printed).toContain(`curl -i ${url}`)
    const response = await fetch(url)
    expect(response.status).toBe(200)
    expect(response.headers.get('RateLimit')).toMatch(/^"fixed-window";r=11;t=\d$/)
    const order = () =>
      fetch(new URL('/orders', url), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'mine' },
        body: '{"order":"mine"}',
      })
    expect(printed).toContain(`curl -i ${new URL('/orders', url)} -H 'Idempotency-Key: mine'`)
    const first = await order()
    expect((await order()).status, 'while it runs').toBe(409)
    expect(await first.text()).toMatch(/^mine accepted.*receipt 1\n$/)
    const replay = await order()
    expect(replay.headers.get('Idempotency-Replayed')).toBe('true')
    expect(await replay.text()).toMatch(/receipt 1\n$/)
    const ended = once(demo, 'exit')
    demo.kill('SIGINT')
    expect(await ended).toEqual([0, null])
  })

  it('draws the pictures of docs/images', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-pictures-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    expect((await runDemo({ args: ['--svg', folder] })).code).toBe(0)
    const names = await readdir(folder)
    expect(names).toHaveLength(TITLES.length)
    for (const name of names) {
      const current = await readFile(join(folder, name), 'utf8')
      const committed = await readFile(join(ROOT, 'docs/images', name), 'utf8')
      expect(committed, `docs/images/${name} is old: demo --svg docs/images`).toBe(current)
    }
  })
})

describe('the counts of the demo', () => {
  const orderWith = (...gots: readonly Got[]) => {
    const order = new Order('order-1', '')
    const result = (got: Got) => (got === 'first' || got === 'replay' ? { body: 'charged' } : {})
    order.copies.push(...gots.map((got) => ({ got, ...result(got) })))
    return order
  }
  const replays = Array.from({ length: COPIES - 1 }, () => 'replay' as const)
  const checkOf =
    (order: Order, charges = 1) =>
    () =>
      check([order], [countOf(order, charges)])

  it('are right when all copies of an order share one execution', () => {
    expect(checkOf(orderWith('first', ...replays))).not.toThrow()
    expect(checkOf(orderWith('nothing', ...replays))).not.toThrow()
  })

  it('fail the demo when an order ran twice, or not, or was answered differently', () => {
    const good = orderWith('first', ...replays)
    expect(checkOf(good, 2)).toThrow(Mishap)
    expect(checkOf(good, 0)).toThrow('charged 0 times')
    good.copies[7] = { got: 'replay', body: 'charged again' }
    expect(checkOf(good)).toThrow('2 different results')
  })

  it('fail the demo when a copy got no answer, or nobody the first or a replay', () => {
    expect(checkOf(orderWith('first', ...replays.slice(1)))).toThrow('49 of 50 copies')
    expect(checkOf(orderWith('replay', ...replays))).toThrow('no single first response')
    expect(checkOf(orderWith('first', 'first', ...replays.slice(1)))).toThrow('no single first')
    expect(checkOf(orderWith('first', ...replays.map(() => 'running' as const)))).toThrow(
      'no replay',
    )
  })
})

describe('the terminal of the demo', () => {
  const screen = (isTTY: boolean) => {
    const stream = Object.assign(new PassThrough(), { isTTY, rows: 4, hasColors: () => isTTY })
    return { stream, terminal: new Terminal(stream as unknown as NodeJS.WriteStream) }
  }

  it('has colours, and draws over what it has drawn, as far as it is high', async () => {
    const { stream, terminal } = screen(true)
    terminal.move(['1', '2', '3', '4', '5'])
    terminal.move([terminal.paint('green', 'a')])
    terminal.move([])
    stream.end()
    const green = '\x1b[32ma\x1b[39m'
    expect(await text(stream)).toBe(`1\n2\n3\n\x1b[3A\x1b[J${green}\n\x1b[1A\x1b[J`)
  })

  it('has neither in a pipe', async () => {
    const { stream, terminal } = screen(false)
    terminal.move(['1'])
    terminal.print([terminal.paint('green', 'a')])
    stream.end()
    expect(await text(stream)).toBe('a\n')
  })
})

/** The numbers of a line of the closing table. */
function summaryOf(title: string, output: string): number[] {
  const [, numbers = ''] = new RegExp(`^${title} +((?:\\d+ +){3})`, 'm').exec(output) ?? []
  return numbers.trim().split(/ +/).map(Number)
}

/** What the drawing of act 2 shows: who got what, once each order, and that the table counts the same. */
function expectOneExecutionAnOrder(output: string): void {
  for (const [order, shape] of [
    ['order-1', /^1·+=+$/],
    ['order-2', /^x·+=+$/],
    ['order-3', /^x·+\?+=+$/],
  ] as const) {
    const [, copies = ''] =
      new RegExp(`^${order} .*\\nhandler .*\\ncopies +(.*)$`, 'm').exec(output) ?? []
    expect(copies, order).toHaveLength(COPIES)
    expect(copies, order).toMatch(shape)
    const count = (sign: string) => copies.split(sign).length - 1
    const [, numbers = ''] = new RegExp(`^${order}((?: +\\d+){6})$`, 'm').exec(output) ?? []
    expect(numbers.trim().split(/ +/).map(Number), order).toEqual([
      ...['1', '=', '·', '?', 'x'].map(count),
      1,
    ])
  }
  expect(output).toMatch(/^150 copies of 3 orders: 3 charges, \d+ replays, \d+ times 409\.$/m)
}

/** What the drawing of act 3 shows: the first holder comes too late, one of the others pays, the rest find it paid. */
function expectOneAtATime(output: string): void {
  const lines = output.match(/^payment \d+ +till \d +.*$/gm) ?? []
  expect(lines).toHaveLength(20)
  expect(lines[0]).toMatch(/█░+✗$/)
  // Which process comes first in line, when the requests reach them, is up to the machine.
  for (const line of lines.slice(1)) expect(line).toMatch(/·+█+[=✓]$/)
  expect(lines.filter((line) => line.endsWith('✓'))).toHaveLength(1)
  expect(output).toMatch(
    /^20 payments of one order: 1 paid, 18 found it paid, 1 late write refused\.$/m,
  )
}

/** What the drawing of act 4 shows: a worker went away in the middle of an order, which another one ran again. */
function expectNoneLost(output: string): void {
  const lines = output.match(/^order-\d+ +.*[€✓]$/gm) ?? []
  expect(lines).toHaveLength(12)
  expect(lines.filter((line) => / by (1, 2|2, 1) +·+x+·*█+✓$/.test(line)).length).toBeGreaterThan(0)
  expect(output).toMatch(/^12 orders: 2 paid in time, 10 expired, 0 lost; \d run again\.$/m)
}

/** Reads until `mark` was printed. */
async function until(stream: NodeJS.ReadableStream, mark: string): Promise<string> {
  let printed = ''
  for await (const [chunk] of on(stream, 'data', { close: ['end'] })) {
    printed += chunk
    if (printed.includes(mark)) return printed
  }
  throw new Error(`the program ended before it printed ${mark}:\n${printed}`)
}
