/** Express takes a falsy error for none, and the strings 'route' and 'router' for a way out. */
export function asError(error: unknown): unknown {
  if (error && error !== 'route' && error !== 'router') return error
  return new Error(String(error))
}
