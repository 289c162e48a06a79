import type { ErrorCode } from "../../errors.ts";

/**
 * With it a server that is stopping refuses what it has not looked at: it can be sent to another one. A gateway believes
 * it of whoever answers. A project that sends it asks for its own request to be sent again, and harms nobody else.
 */
export const leavingCode = "server.leaving" satisfies ErrorCode;

type Head = { status: number | undefined; headers: Record<string, string | string[] | undefined> };

export function isRefusedForLeaving({ status, headers }: Head): boolean {
  return status === 503 && headers["x-error-code"] === leavingCode;
}
