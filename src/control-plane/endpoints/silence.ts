import { connect } from "node:net";
import type { Endpoint } from "./endpoint.ts";

/** Nobody answered. Any other error is an answer, or a trouble of this machine. */
const silences = new Set(["ETIMEDOUT", "EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH"]);
/** Nobody listens there, so that a machine that is on refuses at once. */
const unusedPort = 1;

/**
 * Whether nothing at all answers at the address of an endpoint: its machine is off, or packets are lost on the way. A server that is
 * too busy to take connections seems silent at its own port when the queue of that is full, and each try would fill it further. So
 * its port is asked only where a firewall may drop what goes to others.
 */
export async function isSilent(
  { host, port }: Pick<Endpoint, "host" | "port">,
  waitMs: number,
): Promise<boolean> {
  for (const asked of [unusedPort, port]) if (!(await isPortSilent(host, asked, waitMs / 2))) return false;
  return true;
}

function isPortSilent(host: string, port: number, waitMs: number): Promise<boolean> {
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
