import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const bench = fileURLToPath(new URL('..', import.meta.url))
const output = fileURLToPath(new URL('../../node_modules/.cache/sluice-bench/', import.meta.url))

/**
 * Compiles a child's entry to plain JavaScript and returns its path. A TypeScript loader must not run in a measured
 * process: tsx wraps every closure to keep its name, which would slow ours, in TypeScript, and spare the peers.
 */
export async function buildEntry(entry: string): Promise<string> {
  const outfile = `${output}${entry.replace(/\.ts$/, '.mjs')}`
  await build({
    absWorkingDir: bench,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    plugins: [
      {
        name: 'packages-stay-outside',
        setup: ({ onResolve }) => {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === 'entry-point' || path.startsWith('@sluice/') ? undefined : { external: true },
          )
        },
      },
    ],
  })
  return outfile
}
