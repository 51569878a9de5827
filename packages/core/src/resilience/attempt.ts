/** Asks, and gives what is thrown at once as a rejection too: not every client and store keeps to promises. */
export function attempt<T>(ask: () => T | Promise<T>): Promise<T> {
  try {
    return Promise.resolve(ask())
  } catch (error) {
    return Promise.reject(error)
  }
}
