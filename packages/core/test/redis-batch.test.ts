import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Batch } from '../src/redis/batch.ts'

interface Sent {
  readonly group: { readonly name: string }
  readonly items: readonly number[]
  readonly answer: () => void
}

function batch(max: number, options: { waitsForTurn?: boolean } = {}) {
  const sent: Sent[] = []
  const send = (group: Sent['group'], items: readonly number[]) =>
    new Promise<void>((answer) => void sent.push({ group, items, answer }))
  const gathering = new Batch<Sent['group'], number>(max, send, options)
  return { gathering, sent, items: () => sent.map(({ items }) => items) }
}

const [a, b] = [{ name: 'a' }, { name: 'b' }]

describe('a batch', () => {
  it('sends what is asked in one tick together, in order', async () => {
    const { gathering, items } = batch(10)
    for (const item of [1, 2, 3]) gathering.add(a, item)
    expect(items()).toEqual([])
    await turn()
    expect(items()).toEqual([[1, 2, 3]])
  })

  it.each([
    [false, [[1], [2]]],
    [true, [[1, 2]]],
  ])(
    'waits for the rest of its turn although nothing is under way: %s',
    async (waitsForTurn, sent) => {
      const { gathering, items } = batch(10, { waitsForTurn })
      gathering.add(a, 1)
      await new Promise<void>((resolve) => process.nextTick(resolve))
      gathering.add(a, 2)
      await turn()
      expect(items()).toEqual(sent)
    },
  )

  it('sends nothing twice, and nothing later than the next turn', async () => {
    const { gathering, items } = batch(10)
    for (let item = 0; item < 5; item++) {
      gathering.add(a, item)
      await turn()
      await turn()
    }
    expect(items().flat()).toEqual([0, 1, 2, 3, 4])
  })

  it('keeps groups apart', async () => {
    const { gathering, sent } = batch(10)
    for (const item of [1, 2, 3, 4]) gathering.add(item % 2 ? a : b, item)
    await turn()
    expect(sent.map(({ group, items }) => [group.name, items])).toEqual([
      ['a', [1, 3]],
      ['b', [2, 4]],
    ])
  })

  it('is bounded: what is more leaves at once', async () => {
    const { gathering, items } = batch(3)
    for (let item = 0; item < 8; item++) gathering.add(a, item)
    expect(items()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ])
    await turn()
    expect(items()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7],
    ])
  })

  it('gathers the whole turn while something is under way', async () => {
    const { gathering, items, sent } = batch(10)
    gathering.add(a, 0)
    await turn()
    gathering.add(a, 1)
    await Promise.resolve()
    process.nextTick(() => gathering.add(a, 2))
    await turn()
    await turn()
    expect(items()).toEqual([[0], [1, 2]])
    for (const { answer } of sent) answer()
  })
})
