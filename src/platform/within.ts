/** Resolves when the work is settled, or after that time; a failure belongs to whoever waits for the work itself. */
export async function within(waitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, waitMs));
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
