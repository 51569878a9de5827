/** What every error of Sluice has: a literal `code` to switch on, structured fields, and `cause`. */
export abstract class SluiceError extends Error {
  abstract readonly code: string
  override get name(): string {
    return this.constructor.name
  }
}
