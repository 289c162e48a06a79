import { timingSafeEqual } from "node:crypto";

/** Takes as long wherever two texts of one length differ, so that nobody can feel their way to a secret. */
export function sameText(first: string, second: string): boolean {
  const [a, b] = [Buffer.from(first), Buffer.from(second)];
  return a.length === b.length && timingSafeEqual(a, b);
}
