import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * A child as one file of JavaScript, for a test that starts it many times: to compile it anew each time costs more than
 * everything that it does. It lies where it finds the packages that are not ours.
 */
export async function compileChild(file: URL): Promise<{ readonly file: URL } & AsyncDisposable> {
  const folder = await mkdtemp(join(MODULES, '.sluice-child-'))
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [fileURLToPath(file)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['express', 'pg', '@electric-sql/pglite'],
    logLevel: 'error',
  })
  return {
    file: pathToFileURL(outfile),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
