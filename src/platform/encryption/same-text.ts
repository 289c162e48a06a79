import { timingSafeEqual } from "node:crypto";

/** Takes equally long wherever two texts of one length differ, so that a secret cannot be guessed by timing. */
export function sameText(first: string, second: string): boolean {
  const [a, b] = [Buffer.from(first), Buffer.from(second)];
  return a.length === b.length && timingSafeEqual(a, b);
}
