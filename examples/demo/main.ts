import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import express from 'express'
import { type Act, Mishap } from './act.ts'
import { atTheSameTime } from './at-the-same-time/act.ts'
import { later } from './later/act.ts'
import { type OpenedStore, openStore } from './open-store.ts'
import { Terminal } from './terminal.ts'
import { tooFast } from './too-fast/act.ts'
import { twice } from './twice/act.ts'

const acts: readonly Act[] = [tooFast, twice, atTheSameTime, later]

const USAGE = `Usage: demo [--serve | --svg <folder>]
  (nothing)       play the acts: real requests, pictures in the terminal, then end
  --serve         keep the server up and print the curl lines to try
  --svg <folder>  write the pictures as SVG files, from a simulated clock
With REDIS_URL set, limits and results are kept there instead of in memory, and a process is killed.`

process.stdout.on('error', () => process.exit(1)) // the reader of a pipe has left
try {
  const { help, serve, svg } = options()
  if (help) console.log(USAGE)
  else if (svg) await writePictures(svg)
  else await withServer(serve ? keepUp : playAll)
} catch (error) {
  console.error(error instanceof Mishap ? error.message : error)
  process.exit(1) // a server that never answers must not hold the process
}

function options(): { help?: boolean; serve?: boolean; svg?: string } {
  try {
    const flag = { type: 'boolean' } as const
    const folder = { type: 'string' } as const
    return parseArgs({ options: { help: flag, serve: flag, svg: folder } }).values
  } catch (error) {
    throw new Mishap(`${(error as Error).message}\n${USAGE}`)
  }
}

async function withServer(use: (url: string, opened: OpenedStore) => Promise<void>): Promise<void> {
  await using opened = await openStore(process.env['REDIS_URL'])
  const app = express()
  for (const act of acts) act.mount(app, opened.store)
  const server = app.listen(0, '127.0.0.1')
  server.keepAliveTimeout = 60_000 // no connection ends while an act still wants to use it
  await once(server, 'listening')
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, opened)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

async function playAll(url: string, opened: OpenedStore): Promise<void> {
  const terminal = new Terminal(process.stdout)
  terminal.print([`Sluice with Express on ${url}`, `Limits and results kept ${opened.place}`])
  for (const [index, act] of acts.entries()) {
    terminal.print(['', terminal.bold(`Act ${index + 1}: ${act.title}`)])
    await act.play({ ...opened, url, terminal })
  }
  terminal.print(['', 'Try it by hand: run the demo again with --serve.'])
}

async function keepUp(url: string, { place }: OpenedStore): Promise<void> {
  console.log(`Sluice with Express on ${url}\nLimits and results kept ${place}\n\nTry:`)
  for (const line of acts.flatMap((act) => act.curls(url))) console.log(`  ${line}`)
  console.log('\nCtrl-C stops the server.')
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  console.log('\nStopped.')
}

async function writePictures(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const { fileName, svg } of (
    await Promise.all(acts.map((act) => act.pictures?.() ?? []))
  ).flat()) {
    await writeFile(join(folder, fileName), svg)
    console.log(join(folder, fileName))
  }
}
