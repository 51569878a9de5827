/** What the parent tells a child when it starts it. */
export interface Settings {
  readonly redisPort: number
  readonly limit: number
  readonly windowMs: number
  readonly algorithm: Algorithm
}

export type Algorithm = 'fixed' | 'sliding' | 'log' | 'token' | 'leaky' | 'four'

const variable = 'BENCH_SETTINGS'

export function settingsEnvironment(settings: Settings): NodeJS.ProcessEnv {
  return { [variable]: JSON.stringify(settings) }
}

export function readSettings(): Settings {
  return JSON.parse(process.env[variable] ?? '{}')
}
