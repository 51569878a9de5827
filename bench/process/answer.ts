export type Handler = (argument: never) => unknown

interface Question {
  readonly id: number
  readonly command: string
  readonly argument: never
}

/** Child side: answers the parent's calls, and ends with the parent, whatever ended it. */
export function answer(handlers: Readonly<Record<string, Handler>>): void {
  process.on('disconnect', () => process.exit())
  process.on('message', ({ id, command, argument }: Question) => {
    Promise.resolve()
      .then(() => handlers[command]?.(argument))
      .then(
        (value) => process.send?.({ id, value }),
        (error) => process.send?.({ id, error: String(error) }),
      )
  })
  process.send?.({ ready: true })
}
