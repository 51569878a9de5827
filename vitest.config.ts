import { transform } from 'esbuild'
import { defineConfig, type Plugin } from 'vitest/config'

/** Lowers TC39 decorators: Vite's oxc passes them through, and Node 20 cannot parse them. */
function decorators(): Plugin {
  return {
    name: 'tc39-decorators',
    enforce: 'pre',
    async transform(code, id) {
      if (!id.endsWith('.ts') || !/^\s*@\w/m.test(code)) return
      return transform(code, { loader: 'ts', target: 'es2022', sourcefile: id, sourcemap: true })
    },
  }
}

export default defineConfig({
  test: {
    reporters: ['default', './test/support/plain-summary.ts'],
    projects: [
      {
        plugins: [decorators()],
        test: { name: 'unit', include: ['packages/*/test/**/*.test.ts'] },
      },
      {
        plugins: [decorators()],
        test: {
          name: 'redis',
          include: ['test/{contract,integration,property,e2e,examples}/**/*.test.ts'],
          globalSetup: 'test/support/shared-redis.ts',
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: 'test/types/tsconfig.json',
            ignoreSourceErrors: true, // `tsc -b` reports those
          },
        },
      },
      {
        plugins: [decorators()],
        test: {
          name: 'fault',
          include: ['test/fault/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Each test runs servers of its own: one file at a time, and after the other projects.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
