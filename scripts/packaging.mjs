// Checks the packages as their users get them: builds and packs each, has publint and attw look at the tarballs, and
// installs them into empty projects that must compile, serve requests and refuse the one too many.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = join(ROOT, 'node_modules/.bin')
const { devDependencies: versions } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** What the files of scripts/packaging/ need beside our packages. */
const PROJECTS = [
  { name: 'express', uses: ['express', '@types/express'], servers: ['express.mjs', 'express.cjs'] },
  { name: 'koa', uses: ['koa', '@types/koa'], servers: ['koa.mjs'] },
  {
    name: 'postgres',
    uses: ['pg', '@types/pg', '@electric-sql/pglite'],
    servers: [],
    program: { file: 'postgres.mjs', prints: 'replay 0 true' },
  },
]

const folder = mkdtempSync(join(tmpdir(), 'sluice-packaging-'))
try {
  const packages = publicPackages()
  build(packages)
  const tarballs = packages.map(pack)
  for (const tarball of tarballs) inspect(tarball)
  for (const project of PROJECTS) await tryOut(project, tarballs)
  console.log('packaging: all is well')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function publicPackages() {
  return readdirSync(join(ROOT, 'packages'))
    .map((name) => join(ROOT, 'packages', name))
    .filter((path) => !JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).private)
}

/** From nothing, so that no file of an earlier build is packed. */
function build(packages) {
  for (const path of packages)
    for (const output of ['dist', '.tsbuildinfo'])
      rmSync(join(path, output), { recursive: true, force: true })
  run(process.execPath, [join(ROOT, 'scripts/build-lua.mjs'), '--check'])
  run(process.execPath, [join(ROOT, 'scripts/build-sql.mjs'), '--check'])
  run(join(BIN, 'tsc'), ['-b', ...packages])
}

/** With pnpm, which puts `publishConfig.exports` and the versions of workspace packages in place. */
function pack(path) {
  const output = run(
    'npx',
    ['--yes', 'pnpm@12.4.2', 'pack', '--json', '--pack-destination', folder],
    path,
  )
  return JSON.parse(output).filename
}

function inspect(tarball) {
  const files = run('tar', ['-tzf', tarball]).trim().split('\n')
  for (const needed of ['LICENSE', 'dist/index.js', 'dist/index.d.ts'])
    expect(files.includes(`package/${needed}`), `${tarball} lacks ${needed}`)
  const stray = files.filter((file) => /tsbuildinfo|\/test\/|\.test\./.test(file))
  expect(stray.length === 0, `${tarball} holds ${stray}`)
  run(join(BIN, 'publint'), ['run', tarball, '--strict'])
  run(join(BIN, 'attw'), [tarball, '--profile', 'esm-only'])
  console.log(`packaging: ${tarball.replace(/^.*\//, '')} is fit to publish`)
}

async function tryOut({ name, uses, servers, program }, tarballs) {
  const project = join(folder, name)
  mkdirSync(project)
  const wanted = tarballs.filter((tarball) => new RegExp(`sluice-(core|${name})-\\d`).test(tarball))
  const registry = [...uses, 'ioredis', '@types/node'].map((each) => `${each}@${versions[each]}`)
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  run('npm', ['install', '--no-audit', '--no-fund', ...wanted, ...registry], project)

  const files = [...servers, ...(program ? [program.file] : []), `${name}.ts`]
  for (const file of files) cpSync(join(ROOT, 'scripts/packaging', file), join(project, file))
  const strict = ['--strict', '--noEmit', '--module', 'nodenext', '--types', 'node']
  run(join(BIN, 'tsc'), [...strict, `${name}.ts`], project)
  for (const server of servers) await serve(project, server)
  if (!program) return
  const printed = run(process.execPath, [program.file], project).trim()
  expect(printed === program.prints, `${program.file} printed ${printed}`)
  console.log(`packaging: ${program.file} runs`)
}

async function serve(project, file) {
  const server = spawn(process.execPath, [file], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const ended = once(server, 'exit').then(([code]) => expect(false, `${file} ended with ${code}`))
    const [port] = await Promise.race([once(server.stdout, 'data'), ended])
    await drive(`http://127.0.0.1:${Number(port)}/`, file)
    console.log(`packaging: ${file} serves and refuses`)
  } finally {
    server.kill()
  }
}

/** The default policy admits 100 a minute: one request more is refused (two, if the minute turns meanwhile). */
async function drive(url, file) {
  const first = await fetch(url)
  expect(first.status === 200 && (await first.text()) === 'hello', `${file}: ${first.status}`)
  for (const field of ['RateLimit', 'RateLimit-Policy'])
    expect(first.headers.get(field), `${file}: no ${field}`)
  let last = first
  let passed = 0
  for (; last.status === 200 && passed < 102; passed++) {
    last = await fetch(url)
    if (last.status === 200) await last.text()
  }
  expect(passed >= 100, `${file}: refused after ${passed}`)
  expect(last.status === 429, `${file}: ${last.status} after ${passed} requests`)
  expect(/^application\/problem\+json/.test(last.headers.get('Content-Type')), `${file}: type`)
  expect(/^[1-9]\d*$/.test(last.headers.get('Retry-After')), `${file}: Retry-After`)
  const problem = await last.json()
  expect(problem.status === 429 && problem.type && problem['violated-policies'], `${file}: problem`)
}

function run(command, args, cwd = ROOT) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8' })
  } catch (error) {
    throw new Error(`${[command, ...args].join(' ')}\n${error.stdout}${error.stderr}`)
  }
}

function expect(condition, otherwise) {
  if (!condition) throw new Error(otherwise)
}
