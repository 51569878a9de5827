import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hashKey } from '@sluice/core'
import { eventually } from '../../support/eventually.ts'
import type { Line } from './worker-process.ts'

/** What all workers of a test did, in a file that outlives each of them. */
export class Journal implements AsyncDisposable {
  readonly file: string

  private constructor(file: string) {
    this.file = file
  }

  static async open(): Promise<Journal> {
    const file = join(await mkdtemp(join(tmpdir(), 'sluice-journal-')), 'lines')
    await writeFile(file, '')
    return new Journal(file)
  }

  async read(): Promise<readonly Line[]> {
    const lines = (await readFile(this.file, 'utf8')).split('\n')
    // A process that was killed may have left half a line.
    return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Line)
  }

  /** What was done with one task. */
  async of(id: string, type: Line['type']): Promise<readonly Line[]> {
    const lines = await this.read()
    return lines.filter((line) => line.idHash === hashKey(id) && line.type === type)
  }

  /** Waits until so much of `type` has happened, with any task. */
  async until(type: Line['type'], count: number): Promise<void> {
    const soFar = async () => (await this.read()).filter((line) => line.type === type).length
    await eventually(async () => (await soFar()) >= count, { withinMs: 30_000 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(dirname(this.file), { recursive: true, force: true })
  }
}
