import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const LOWEST = 20_000;
const HIGHEST = 32_000;

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(false);
      else reject(error);
    });
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/**
 * A port the operating system confirms as free. It is drawn below the ephemeral range: a component that is
 * stopped and started again on its port must not find an outgoing connection of another test sitting on it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await canListen(port)) return port;
  }
  throw new Error(`No free port found on 127.0.0.1 between ${LOWEST} and ${HIGHEST} after 100 attempts.`);
}
