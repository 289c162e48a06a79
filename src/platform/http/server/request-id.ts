import { randomUUID } from "node:crypto";

/** Kept only when it can stand in a log line and a header as it is. */
const acceptable = /^[A-Za-z0-9._:-]{1,128}$/;

export function requestIdOf(given: string | null): string {
  return given !== null && acceptable.test(given) ? given : randomUUID();
}
