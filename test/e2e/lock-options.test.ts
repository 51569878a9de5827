import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import * as onExpress from '@sluice/express'
import { ConfigurationError } from '@sluice/express'
import * as onKoa from '@sluice/koa'
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'

/** What takes anything, as it does in JavaScript. */
type Guard = (...args: readonly unknown[]) => unknown

const packages = [
  ['Express', onExpress],
  ['Koa', onKoa],
] as const

describe.each(packages)('in %s', (_name, { lock, withLock, Locked }) => {
  const make = [
    ['lock', lock as Guard],
    ['withLock', ((key, options) => (withLock as Guard)(key, () => {}, options)) as Guard],
    ['Locked', Locked as Guard],
  ] as const

  describe.each(make)('%s', (owner, create) => {
    const failing = (key: unknown, options: unknown = {}) => {
      try {
        create(key, options)
      } catch (error) {
        return error
      }
      return undefined
    }

    it.each([
      { leaseMs: 0 },
      { leaseMs: 1.5 },
      { waitMs: -1 },
      { waitMs: Number.POSITIVE_INFINITY },
      { maxHoldMs: 49 },
      { renew: 'yes' },
      { metadata: 'x'.repeat(2000) },
      { metadata: 1n },
      { store: {} },
      { timeoutMs: 0 },
      { onStoreFailure: 'local' },
      { status: 200 },
      { ttl: 1000 },
      { replicas: { min: 1, waitMs: 1 } },
    ])('L15: checks its options at construction: %o', (options) => {
      const error = failing('k', options)
      expect(error).toBeInstanceOf(ConfigurationError)
      expect(error).toMatchObject({ option: Object.keys(options)[0] })
      expect((error as Error).message).toMatch(new RegExp(`^${owner}: `))
    })

    it.each([[''], [7], [undefined], [null], [[]], [['a', '']], [{}]])(
      'L11: refuses %o as a key',
      (key) => {
        expect(failing(key)).toBeInstanceOf(ConfigurationError)
        expect(failing(key)).toMatchObject({ option: expect.stringMatching(/^key/) })
      },
    )

    it('L15: says so when it was mounted without being called', () => {
      const request = new IncomingMessage(new Socket())
      for (const given of [request, { req: request }])
        expect(failing(given)).toMatchObject({
          message: expect.stringContaining(`write app.use(${owner}(key))`),
        })
    })

    it('L15: takes keys, several keys, callbacks, and options that are undefined', () => {
      for (const key of ['k', ['a', 'b'], () => 'k'])
        expect(
          failing(key, { leaseMs: 50, waitMs: undefined, metadata: { a: [1] } }),
        ).toBeUndefined()
    })
  })

  it('L15: withLock wants a handler at construction', () => {
    for (const args of [['k'], [() => 'k', 'k'], ['k', { waitMs: 1 }]])
      expect(() => (withLock as Guard)(...args)).toThrow(/^withLock: `handler` must be a function/)
  })

  it.each([
    ['a method', "@Locked('k') method() {}"],
    ['a getter', "@Locked('k') get value() { return 1 }"],
    ['a parameter', "method(@Locked('k') value) {}"],
    ['a method, without a call', '@Locked method() {}'],
  ])(
    'L15: under the legacy protocol @Locked on %s throws as soon as the class is defined',
    async (_what, member) => {
      await expect(defined(`class Orders { ${member} }`, true)).rejects.toThrow(ConfigurationError)
    },
  )

  it('L15: and says what to do', async () => {
    await expect(defined("class Orders { @Locked('k') method() {} }", true)).rejects.toThrow(
      /^Locked: .*experimentalDecorators/,
    )
  })

  it.each([
    ['class', "@Locked('k') class Orders {}"],
    ['field', "class Orders { @Locked('k') field = 1 }"],
    ['getter', "class Orders { @Locked('k') get value() { return 1 } }"],
    ['setter', "class Orders { @Locked('k') set value(value) {} }"],
    ['accessor', "class Orders { @Locked('k') accessor value = 1 }"],
  ])('L15: @Locked on a %s throws at once', async (kind, code) => {
    await expect(defined(code)).rejects.toThrow(
      new RegExp(`^Locked: .* must be a method of a class, but got "${kind}"`),
    )
  })

  it('L15: @Locked without a call throws at once, and says what to do', async () => {
    await expect(defined('class Orders { @Locked method() {} }')).rejects.toThrow(/@Locked\(key\)/)
  })

  it('L15: @Locked decorates public, private and static methods', async () => {
    const code =
      "class Orders { @Locked('k') a() {} @Locked('k') #b() {} @Locked('k') static c() {} }"
    await expect(defined(code)).resolves.toBeTypeOf('function')
  })

  it('L15: a method under @Locked that is called with something else than a request says so', async () => {
    const Orders = await defined("class Orders { @Locked('k') async pay() {} }")
    await expect(new Orders().pay()).rejects.toThrow(
      /^Locked: `arguments` must be \((req, res|ctx)\)/,
    )
  })

  /** Compiles a class as users' compilers do, and defines it. */
  async function defined(
    code: string,
    experimentalDecorators = false,
  ): Promise<new () => { pay(): Promise<unknown> }> {
    const compiled = await transform(code, {
      loader: 'ts',
      target: 'es2022',
      tsconfigRaw: { compilerOptions: { experimentalDecorators } },
    })
    return new Function('Locked', `${compiled.code}\nreturn Orders`)(Locked)
  }
})
