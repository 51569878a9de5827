import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

const run = promisify(execFile)

const DEBIAN = '/usr/lib/postgresql'
const READY = 'database system is ready to accept connections'

/** PostgreSQL refuses to be run by root. */
interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** A PostgreSQL of the test's own, in its own processes, port and folder. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number
  readonly #binary: string
  readonly #folder: string
  readonly #owner: Owner
  #process: ChildProcess | undefined

  private constructor(port: number, binary: string, folder: string, owner: Owner) {
    this.port = port
    this.#binary = binary
    this.#folder = folder
    this.#owner = owner
  }

  /** The folder of `postgres` and `initdb`: on the PATH, or where Debian's packages keep them. */
  static async binaries(): Promise<string | undefined> {
    const versions = await readdir(DEBIAN).catch(() => [])
    const folders = (process.env['PATH'] ?? '').split(delimiter)
    for (const folder of [...folders, ...versions.map((version) => join(DEBIAN, version, 'bin'))])
      if ((await exists(join(folder, 'initdb'))) && (await exists(join(folder, 'postgres'))))
        return folder
    return undefined
  }

  static async start(): Promise<PostgresServer> {
    const binaries = await PostgresServer.binaries()
    if (!binaries) throw new Error('no postgres and initdb on the PATH')
    const owner = await ownerOfServers()
    const folder = await mkdtemp(join(tmpdir(), 'sluice-postgres-'))
    if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid ?? owner.uid)
    const how = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    await run(join(binaries, 'initdb'), ['-D', folder, ...how], { ...owner, cwd: folder })
    const port = await freePort()
    const server = new PostgresServer(port, join(binaries, 'postgres'), folder, owner)
    await server.restart()
    return server
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  /** Ends the server and breaks its connections (SIGQUIT: what was committed stays). */
  async stop(): Promise<void> {
    const server = this.#process
    this.#process = undefined
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGQUIT')
    await gone
  }

  /** The same port and the same data again. */
  async restart(): Promise<void> {
    await this.stop()
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
    const args = ['-D', this.#folder, '-p', String(this.port)]
    const server = spawn(this.#binary, [...args, ...settings.flatMap((line) => ['-c', line])], {
      ...this.#owner,
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await once(server, 'spawn')
    dieWithThisProcess(server, this.#folder)
    this.#process = server
    await untilReady(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function ownerOfServers(): Promise<Owner> {
  if (process.getuid?.() !== 0) return {}
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}

async function untilReady(server: ChildProcess): Promise<void> {
  if (!server.stderr) throw new Error('the server has no stderr')
  let log = ''
  for await (const line of createInterface(server.stderr)) {
    if (line.includes(READY)) return void server.stderr.resume()
    log += `${line}\n`
  }
  throw new Error(`postgres stopped before it was ready:\n${log}`)
}

/** A shell waits for the pipe from this process to close, however this process ends, and then clears up behind it. */
function dieWithThisProcess(server: ChildProcess, folder: string): void {
  const clearUp = 'read -r _; kill -QUIT "$0"; while kill -0 "$0"; do sleep 0.1; done; rm -rf "$1"'
  const watch = spawn('sh', ['-c', clearUp, String(server.pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.unref()
  server.once('exit', () => watch.kill('SIGKILL'))
}
