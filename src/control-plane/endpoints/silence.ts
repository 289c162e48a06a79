import { connect } from "node:net";
import type { Endpoint } from "./endpoint.ts";

/** Nobody answered. Any other error is an answer, or a trouble of this machine. */
const silences = new Set(["ETIMEDOUT", "EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH"]);

/**
 * Whether nothing at all answers at the address of an endpoint: its machine is off, or packets are lost on the way. A refused
 * connection is an answer, and so is one that the server has not looked at yet.
 */
export function isSilent({ host, port }: Pick<Endpoint, "host" | "port">, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const give = (silent: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(silent);
    };
    // What arrived while this process was busy counts.
    const timer = setTimeout(() => setImmediate(give, true), waitMs);
    socket.once("connect", () => give(false));
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => give(silences.has(code)));
  });
}
