import { on, once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { Terminal } from '../../examples/demo/terminal.ts'
import { freePort } from '../support/free-port.ts'
import { ROOT, type RunOptions, runExample, startExample } from '../support/run-example.ts'

const runDemo = (options?: RunOptions) => runExample('demo/main.ts', options)
const TITLES = ['fixed window', 'sliding window', 'sliding log', 'token bucket', 'leaky bucket']

describe('the demo', { timeout: 60_000 }, () => {
  it.concurrent.for([
    ['in memory', {}],
    ['in Redis', { REDIS_URL: `redis://127.0.0.1:${inject('redisPort')}` }],
  ] as const)(
    'draws what passed and was refused, %s, and ends by itself',
    async ([place, env], { expect }) => {
      const { code, stdout, stderr } = await runDemo({ env: { ...env, FORCE_COLOR: '1' } })
      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(stdout).toContain(`Limits kept ${place}`)
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

/** Reads until `mark` was printed. */
async function until(stream: NodeJS.ReadableStream, mark: string): Promise<string> {
  let printed = ''
  for await (const [chunk] of on(stream, 'data', { close: ['end'] })) {
    printed += chunk
    if (printed.includes(mark)) return printed
  }
  throw new Error(`the program ended before it printed ${mark}:\n${printed}`)
}
